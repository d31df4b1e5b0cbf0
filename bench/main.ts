/**
 * `npm run bench`: starts everything, measures, prints tables, writes JSON. A missed target is said, and no failure.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres.ts'
import { FULL, SHORT } from './effort.ts'
import { LoadGenerator } from './load/generator.ts'
import { Cleanup } from './processes/cleanup.ts'
import { tableOf, targetTable } from './report.ts'
import { scenariosFor } from './scenarios/all.ts'
import { isMet, type Result, type Scenario } from './scenarios/scenario.ts'

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    output: { type: 'string' },
  },
})
if (process.platform !== 'linux') throw new Error('the bench reads /proc, so it needs Linux')

const cleanup = new Cleanup()
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => void cleanup.run().finally(() => process.exit(code)))
}

const tell = (text: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`)
try {
  await run()
} finally {
  await cleanup.run()
}

async function run(): Promise<void> {
  const startedAt = new Date()
  const effort = options.short ? SHORT : FULL
  const chosen = choose(scenariosFor(effort), options.only)
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-bench-'))
  cleanup.add(() => rm(folder, { recursive: true, force: true }))
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
  console.log(targetTable(results))
  await writeJson(startedAt, results)
}

/** @throws {Error} if there is no scenario with one of the names. */
function choose(scenarios: ReadonlyMap<string, Scenario>, names: readonly string[]): ReadonlyMap<string, Scenario> {
  if (names.length === 0) return scenarios
  return new Map(
    names.map((name) => {
      const scenario = scenarios.get(name)
      if (scenario === undefined) throw new Error(`no scenario ${name}; there are ${[...scenarios.keys()].join(', ')}`)
      return [name, scenario]
    }),
  )
}

async function writeJson(startedAt: Date, results: readonly Result[]): Promise<void> {
  const name = `${startedAt.toISOString().slice(0, 19).replaceAll(':', '')}.json`
  const file = options.output ?? join(import.meta.dirname, 'results', name)
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version }
  const command = ['npm run bench', '--', ...process.argv.slice(2)].join(' ')
  const judged = results.map((result) => ({
    ...result,
    targets: result.targets.map((target) => ({ ...target, met: isMet(target) })),
  }))
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify({ startedAt, command, machine, results: judged }, undefined, 2)}\n`)
  tell(`wrote ${file}`)
}
