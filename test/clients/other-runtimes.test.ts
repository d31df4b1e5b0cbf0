/**
 * The programs of `docs/clients/node.md` on Deno and Bun, which come from npm.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { INSTEAD_OF_INSTALLING } from './keyturn-package.ts'
import { testLanguagePage } from './language-page.ts'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/keyturn-clients/runtimes')
const BIN = join(CACHE, 'node_modules/.bin')

/** Installs both, once. Whether they are there afterwards, the pages find out. */
function install(): void {
  mkdirSync(CACHE, { recursive: true })
  cpSync(join(import.meta.dirname, 'runtimes/package.json'), join(CACHE, 'package.json'))
  try {
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: CACHE, stdio: 'inherit' })
  } catch {
    process.stderr.write('Deno and Bun cannot be installed\n')
  }
}

install()

for (const [name, run] of [
  ['Deno', `${BIN}/deno run --quiet --allow-env --allow-net --allow-read --node-modules-dir=manual`],
  ['Bun', `${BIN}/bun run`],
] as const) {
  testLanguagePage({
    name: 'node',
    runsOn: name,
    needs: { [name]: `${run.split(' ')[0]} --version` },
    instead: {
      ...INSTEAD_OF_INSTALLING,
      'node print-token.mjs | node verify.mjs': `${run} print-token.mjs | ${run} verify.mjs`,
      'node list-keys.mjs': `${run} list-keys.mjs`,
    },
    verify: `${run} verify.mjs`,
  })
}
