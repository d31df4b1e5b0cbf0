/**
 * Runs the suite of verifiers, and prints what it measured as the tables of `docs/verifiers.md`: `npm run interop`. With
 * `-- --write` it writes them into the page, and the sources of the verifiers with them. A test fails when a source or the list
 * of verifiers in the page is not up to date.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Outcome } from '../test/interop/scenario.ts'
import { KEYS, type KeyName, VERIFIERS } from '../test/interop/verifiers.ts'

const ROOT = join(import.meta.dirname, '../')
const PAGE = join(ROOT, 'docs/verifiers.md')
const BEGIN = '<!-- measured: begin -->'
const END = '<!-- measured: end -->'
/** Below this many cache times a verifier did not wait for its cache: it fetched because of the token. */
const AT_ONCE = 0.05

/** What was measured of one verifier. */
type Result = Outcome & { readonly name: string; readonly version: string }

/** The page with these results instead of those that it has. @throws {Error} if a verifier has none. */
export function withResults(page: string, results: readonly Result[]): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`the page has no ${BEGIN} … ${END}`)
  return `${page.slice(0, begin + BEGIN.length)}\n${tables(results)}\n${page.slice(end)}`
}

/** The page with the sources as they are: each follows a comment that names it. */
export function withSources(page: string): string {
  return page.replaceAll(/^(<!-- source: (\S+) -->\n```\w+\n).*?^```$/gms, (_, opening: string, file: string) => {
    const source = readFileSync(join(ROOT, file), 'utf8')
    return `${opening}${source}\`\`\``
  })
}

function tables(results: readonly Result[]): string {
  const rows = VERIFIERS.map((verifier) => {
    const result = results.find(({ name }) => name === verifier.name)
    if (result === undefined) throw new Error(`${verifier.name} was skipped: the page has to have all`)
    return { verifier, result }
  })
  const kinds = rows.map(({ verifier: { name, language, configuredBy }, result }) => {
    return `| ${name} | ${result.version} | ${language} | ${configuredBy} | ${KEYS.map((key) => cell(result, key)).join(' | ')} |`
  })
  const times = rows.map(({ verifier: { name, settings }, result }) => {
    return `| ${name} | ${duration(result.newKeyAcceptedAfter)} | ${duration(result.revokedKeyRefusedAfter)} | ${settings} |`
  })
  return [
    '',
    `| verifier | version | language | learns keys from | ${KEYS.join(' | ')} |`,
    `|---|---|---|---|${KEYS.map(() => '---|').join('')}`,
    ...kinds,
    '',
    '| verifier | a new key is accepted after | a revoked key is refused after | settings |',
    '|---|---|---|---|',
    ...times,
    '',
  ].join('\n')
}

function cell({ tallies }: Result, key: KeyName): string {
  const { active, inactive } = tallies[key]
  if (active.refused + inactive.refused === 0) return 'verified'
  return active.verified + inactive.verified === 0 ? 'refused' : '**some refused**'
}

function duration(elapsed: Result['newKeyAcceptedAfter']): string {
  if (elapsed === 'unknown') return 'does not apply'
  if (elapsed === 'not in 4') return '**not within 4 cache times**'
  return elapsed < AT_ONCE ? 'at once' : `${elapsed.toFixed(1)} cache times`
}

function measure(): readonly Result[] {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-interop-'))
  const file = join(folder, 'results.json')
  try {
    const { status } = spawnSync('npm', ['run', 'test:interop'], {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, INTEROP_RESULTS: file },
    })
    if (status !== 0) throw new Error('the suite failed, so nothing is written')
    return JSON.parse(readFileSync(file, 'utf8')) as Result[]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) {
  const results = measure()
  if (process.argv.includes('--write')) {
    writeFileSync(PAGE, withSources(withResults(readFileSync(PAGE, 'utf8'), results)))
  } else {
    console.log(tables(results))
  }
}
