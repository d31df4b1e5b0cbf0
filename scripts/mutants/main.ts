/**
 * Breaks one promise after the other in a copy of the checkout, and says which of them no test misses.
 *
 * `npm run mutants -- [word…]`: only the mutants whose file or promise has one of the words; `--jobs N`: N at a time, 2 unless told; `--check`:
 * only whether every text stands in its file once, and every test file exists.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { setUp, tearDown } from '../../test/support/global-setup.ts'

/** Mutants of one file, and the test files that should notice them: the fast ones first. */
interface Group {
  readonly file: string
  readonly tests: readonly string[]
  readonly mutants: readonly { readonly breaks: string; readonly text: string; readonly becomes: string }[]
}

interface Mutant extends Omit<Group, 'mutants'> {
  readonly breaks: string
  readonly text: string
  readonly becomes: string
}

const ROOT = join(import.meta.dirname, '../..')
const MAX_MILLIS = 5 * 60_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: 'string', default: '2' }, check: { type: 'boolean', default: false } },
})

const mutants = readMutants().filter(({ file, breaks }) => {
  const about = `${file} ${breaks}`.toLowerCase()
  return positionals.length === 0 || positionals.some((word) => about.includes(word.toLowerCase()))
})
const mistakes = mutants.map(mistakeOf).filter((mistake) => mistake !== undefined)
for (const mistake of mistakes) console.error(mistake)
if (mistakes.length > 0) process.exitCode = 1
if (!values.check) await run(mutants.filter((mutant) => mistakeOf(mutant) === undefined))

function readMutants(): readonly Mutant[] {
  return globSync(join(import.meta.dirname, '*.yaml'))
    .sort()
    .flatMap((path) => parse(readFileSync(path, 'utf8')) as readonly Group[])
    .flatMap(({ mutants, ...group }) => mutants.map((mutant) => ({ ...group, ...mutant })))
}

function mistakeOf({ file, text, tests, breaks }: Mutant): string | undefined {
  const missing = [file, ...tests].find((path) => globSync(path, { cwd: ROOT }).length === 0)
  if (missing !== undefined) return `there is no ${missing}: ${breaks}`
  const count = readFileSync(join(ROOT, file), 'utf8').split(text).length - 1
  return count === 1 ? undefined : `the text stands in ${file} ${count} times: ${breaks}`
}

async function run(all: readonly Mutant[]): Promise<void> {
  const waiting = [...all]
  const survivors: Mutant[] = []
  const work = async (): Promise<void> => {
    const copy = copyCheckout()
    try {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const killer = await killerOf(mutant, copy)
        if (killer === undefined) survivors.push(mutant)
        console.log(
          `${killer === undefined ? 'SURVIVED' : 'killed'}  ${mutant.file}: ${mutant.breaks}  ${killer ?? ''}`,
        )
      }
    } finally {
      rmSync(copy, { recursive: true })
    }
  }
  await setUp()
  await Promise.all(Array.from({ length: Number(values.jobs) }, work)).finally(tearDown)
  for (const { file, breaks } of survivors) console.log(`survived: ${file}: ${breaks}`)
  console.log(`${all.length - survivors.length} of ${all.length} mutants were killed`)
}

/** The files that git knows, as they are now, beside the packages of the checkout. */
function copyCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'keyturn-mutants-'))
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const path of stdout.split('\n').filter((path) => path !== '' && globSync(path, { cwd: ROOT }).length > 0))
    cpSync(join(ROOT, path), join(copy, path))
  for (const folder of ['node_modules', 'dist']) symlinkSync(join(ROOT, folder), join(copy, folder))
  return copy
}

/** The name of the first test that fails; undefined if all pass. @throws {Error} if no test ran. */
async function killerOf({ file, text, becomes, tests }: Mutant, copy: string): Promise<string | undefined> {
  const path = join(copy, file)
  const original = readFileSync(path, 'utf8')
  writeFileSync(path, original.split(text).join(becomes))
  try {
    return await firstFailure(tests, copy)
  } finally {
    writeFileSync(path, original)
  }
}

async function firstFailure(tests: readonly string[], copy: string): Promise<string | undefined> {
  const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js']
  const order = ['--runInBand', '--bail', '--testSequencer', join(import.meta.dirname, 'given-order.cjs')]
  const child = spawn(
    process.execPath,
    [...jest, ...order, '--testTimeout=60000', '--selectProjects', 'main', '--runTestsByPath', ...tests],
    {
      cwd: copy,
      env: { ...process.env, KEYTURN_MUTANT_TESTS: tests.join(',') },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    },
  )
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), MAX_MILLIS)
  const closed = once(child, 'close')
  let output = ''
  for await (const chunk of child.stderr) output += chunk
  await closed
  clearTimeout(timer)
  const failed = /^FAIL main (\S+)/m.exec(output)?.[1]
  if (failed !== undefined) return `${failed}: ${/^ +● (.*)$/m.exec(output)?.[1]}`
  if (child.signalCode === 'SIGKILL') return `nothing within ${MAX_MILLIS / 60_000} minutes`
  if (child.exitCode !== 0 || !/^Tests: .*\d passed/m.test(output))
    throw new Error(`no test ran of ${tests.join(', ')}: ${output.slice(-500)}`)
  return undefined
}
