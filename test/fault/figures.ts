/**
 * The figures of a scenario: what was lost, how long nobody got a token, how long news took.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ledger } from './ledger.ts'

/** The distribution of a delay in milliseconds; undefined if nothing was measured. */
export interface Distribution {
  readonly count: number
  readonly median: number
  readonly p99: number
  readonly worst: number
}

/** What a scenario came to. Times in milliseconds, memory in MiB. */
export interface Figures {
  readonly scenario: string
  readonly seconds: number
  readonly tokens: number
  readonly verifications: number
  readonly failures: Ledger['tokenFailures']
  readonly changes: { readonly create: number; readonly activate: number; readonly delete: number }
  readonly unavailableCalls: number
  readonly faults: number
  /** The longest time between two tokens, of all clients together. */
  readonly longestGap: number
  /** The same for each fault, until the next one. */
  readonly gaps: Distribution | undefined
  /** The longest time between two acknowledged changes after each fault, until the next one. */
  readonly changeGaps: Distribution | undefined
  readonly rotationDelay: Distribution | undefined
  readonly secretDelay: Distribution | undefined
  /** What the replicas hold at the end. */
  readonly memory: readonly number[]
}

/** The distribution of some delays. */
export function distributionOf(delays: readonly number[]): Distribution | undefined {
  if (delays.length === 0) return undefined
  const sorted = [...delays].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { count: sorted.length, median: at(0.5), p99: at(0.99), worst: at(1) }
}

/** What was counted. */
export function countsOf(
  ledger: Ledger,
): Pick<Figures, 'tokens' | 'failures' | 'changes' | 'unavailableCalls' | 'faults'> {
  const count = (kind: 'create' | 'activate' | 'delete') => ledger.keysThatWere(kind).length
  return {
    tokens: ledger.tokenTimes.length,
    failures: ledger.tokenFailures,
    changes: { create: count('create'), activate: count('activate'), delete: count('delete') },
    unavailableCalls: ledger.unavailableCalls,
    faults: ledger.faults.length,
  }
}

/** The longest times without a token under load and without an acknowledged change: of all, and after each fault until the next one. */
export function gapsOf(
  { tokenTimes, changes, faults }: Ledger,
  { startedAt, endedAt }: { readonly startedAt: number; readonly endedAt: number },
): Pick<Figures, 'longestGap' | 'gaps' | 'changeGaps'> {
  const span = [startedAt, endedAt] as const
  const gaps = gapsBetween(tokenTimes, span)
  const changeTimes = changes.map(({ at }) => at)
  return {
    longestGap: longestOf(gaps),
    gaps: distributionOf(longestGapPerFault(gaps, faults)),
    changeGaps: distributionOf(longestGapPerFault(gapsBetween(changeTimes, span), faults)),
  }
}

/** A time in which something did not happen, by its end. */
interface Gap {
  readonly until: number
  readonly millis: number
}

/** The times between the moments of a span. */
function gapsBetween(moments: readonly number[], [from, to]: readonly [number, number]): readonly Gap[] {
  const times = moments.filter((time) => time >= from && time <= to).sort((a, b) => a - b)
  return times.map((until, index) => ({ until, millis: until - (times[index - 1] ?? until) }))
}

/** For each fault, the longest gap that ended after it and before the next one. */
function longestGapPerFault(gaps: readonly Gap[], faults: readonly { readonly at: number }[]): number[] {
  return faults.map(({ at }, index) => {
    const next = faults[index + 1]?.at ?? Number.POSITIVE_INFINITY
    return longestOf(gaps.filter(({ until }) => until > at && until <= next))
  })
}

function longestOf(gaps: readonly Gap[]): number {
  return gaps.reduce((longest, { millis }) => Math.max(longest, millis), 0)
}

/** Prints the figures, and writes them to `results/` if `KEYTURN_FAULT_RESULTS` is set. */
export async function publish(figures: Figures): Promise<void> {
  process.stdout.write(tableOf(figures))
  if (process.env.KEYTURN_FAULT_RESULTS === undefined) return
  const folder = join(import.meta.dirname, 'results')
  await mkdir(folder, { recursive: true })
  const name = figures.scenario.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(figures, undefined, 2)}\n`)
}

function tableOf(figures: Figures): string {
  const { failures, changes } = figures
  const rows = [
    ['seconds', whole(figures.seconds)],
    ['tokens issued', `${figures.tokens} (verified ${figures.verifications} times)`],
    [
      'good secrets without a token',
      `${failures.refused} refused, ${failures.reset} reset, ${failures.silent} silent, ${failures.unavailable} × 503, ${failures.wrong} wrong`,
    ],
    ['keys', `${changes.create} created, ${changes.activate} activated, ${changes.delete} deleted`],
    ['administrative attempts in vain', String(figures.unavailableCalls)],
    ['faults', String(figures.faults)],
    ['longest time without a token', `${whole(figures.longestGap)} ms`],
    ['the same per fault', textOf(figures.gaps)],
    ['without a change per fault', textOf(figures.changeGaps)],
    ['an activation reaches a replica', textOf(figures.rotationDelay)],
    ['a deactivated secret is refused', textOf(figures.secretDelay)],
    ['memory that the replicas hold', `${figures.memory.map(whole).join(', ')} MiB`],
  ] as const
  const width = Math.max(...rows.map(([name]) => name.length))
  return [`\n${figures.scenario}`, ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`), ''].join('\n')
}

function textOf(distribution: Distribution | undefined): string {
  if (distribution === undefined) return 'not measured'
  const { count, median, p99, worst } = distribution
  return `median ${whole(median)} ms, p99 ${whole(p99)} ms, worst ${whole(worst)} ms (${count})`
}

function whole(value: number): string {
  return value.toFixed(0)
}
