/**
 * `npm run bench`: starts everything, measures, prints tables, writes JSON. A missed target is said, and no failure.
 */
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres.ts'
import { capacityTable } from './capacity.ts'
import { type Effort, FULL, SHORT } from './effort.ts'
import { LoadGenerator } from './load/generator.ts'
import { Cleanup } from './processes/cleanup.ts'
import { tableOf, targetTable } from './report.ts'
import type { Run } from './run.ts'
import { allScenarios } from './scenarios/all.ts'
import { isMet, type Result, type Scenario } from './scenarios/scenario.ts'
import { sizingText } from './sizing.ts'

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    output: { type: 'string' },
  },
})
if (process.platform !== 'linux') throw new Error('the bench reads /proc, so it needs Linux')

const tell = (text: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`)
const cleanup = new Cleanup()
for (const [signal, code] of [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => {
    tell(`${signal}: ending what runs`)
    cleanup.run().finally(() => process.exit(code))
  })
}

// A process that has nothing left to wait for ends with exit code 0, whatever it still wanted to do.
let finished = false
process.on('exit', (code) => {
  if (finished || code !== 0) return
  tell('ended before everything was measured')
  process.exitCode = 1
})
try {
  await run()
  finished = true
} finally {
  await cleanup.run()
}

async function run(): Promise<void> {
  const startedAt = new Date().toISOString()
  const loadBefore = loadAverage()
  const effort = options.short ? SHORT : FULL
  const chosen = choose(allScenarios(), options.only, effort)
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-bench-'))
  // The last chance, also when the process ends while it measures.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const postgres = await startPostgres()
  cleanup.add(() => postgres.stop())
  const load = new LoadGenerator()
  cleanup.add(() => load.stop())

  const results: Result[] = []
  const bench = { effort, postgres, load, folder, tell }
  for (const [name, scenario] of chosen) {
    tell(name)
    const result = await cleanup.scope((inner) => scenario(bench, { folder, cleanup: inner }))
    results.push(result)
    console.log(tableOf(result))
  }
  const tables = [targetTable(results), capacityTable(results), sizingText(results)]
  console.log(tables.filter((table) => table !== '').join('\n'))
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    load: { before: loadBefore, after: loadAverage() },
  }
  const command = ['npm run bench', ...(options.short ? ['-- --short'] : [])].join(' ')
  await writeJson({ startedAt, command, machine, results: results.map(judged) })
}

function loadAverage(): number {
  return loadavg()[0] ?? 0
}

/** With the verdict, for readers of the file who should not have to know how it is made. */
function judged(result: Result): Result {
  return { ...result, targets: result.targets.map((target) => ({ ...target, met: isMet(target) })) }
}

/** @throws {Error} if there is no scenario with one of the names. */
function choose(
  scenarios: ReadonlyMap<string, Scenario>,
  asked: readonly string[],
  { without }: Effort,
): ReadonlyMap<string, Scenario> {
  const usual = [...scenarios.keys()].filter((name) => !without.includes(name))
  return new Map(
    (asked.length === 0 ? usual : asked).map((name) => {
      const scenario = scenarios.get(name)
      if (scenario === undefined) throw new Error(`no scenario ${name}; there are ${[...scenarios.keys()].join(', ')}`)
      return [name, scenario]
    }),
  )
}

async function writeJson(run: Run): Promise<void> {
  const name = `${run.startedAt.slice(0, 19).replaceAll(':', '')}.json`
  const file = options.output ?? join(import.meta.dirname, 'results', name)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(run, undefined, 2)}\n`)
  tell(`wrote ${file}`)
}
