/**
 * What follows from the cost of a token: what one vCPU serves, and what a rate takes.
 */
import { ALGORITHMS } from './contenders/contender.ts'
import { markdownTable } from './report.ts'
import type { Result } from './scenarios/scenario.ts'
import { ON_POSTGRES, tokensTitle } from './scenarios/tokens.ts'
import { UTILISATION } from './sizing.ts'

const RATES = [1_000, 10_000, 100_000, 1_000_000]

/** For each algorithm that was measured: tokens of a vCPU, and vCPUs for some rates. Empty if there is none. */
export function capacityTable(results: readonly Result[]): string {
  const lines = ALGORITHMS.flatMap((algorithm) => {
    const micros = cpuMicros(results, tokensTitle(algorithm))
    if (micros === undefined) return []
    const perCore = 1e6 / micros
    const cores = RATES.map((rate) => String(Math.ceil(rate / (perCore * UTILISATION))))
    return [[algorithm, micros.toFixed(0), perCore.toFixed(0), (perCore * UTILISATION).toFixed(0), ...cores]]
  })
  if (lines.length === 0) return ''
  const head = [
    'signed with',
    'CPU µs per token',
    'tokens/s of a busy vCPU',
    `at ${UTILISATION * 100} %`,
    ...RATES.map((rate) => `vCPUs for ${rate}/s`),
  ]
  return ['### Capacity', '', ...markdownTable([head, ...lines]), ''].join('\n')
}

function cpuMicros(results: readonly Result[], title: string): number | undefined {
  const rows = results.find((result) => result.title === title)?.rows
  const micros = rows?.find(({ name }) => name === ON_POSTGRES)?.cells['CPU µs']
  return typeof micros === 'number' ? micros : undefined
}
