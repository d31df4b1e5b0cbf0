/**
 * Runs the commands of a page: in a shell, in which `npx keyturn` is the command line of the checkout, if they need one, and else in the
 * process of the test, because a process for each would take long.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { runKeyturnInProcess } from './keyturn.ts'
import type { Ended } from './terminal.ts'

const ROOT = join(import.meta.dirname, '../..')

/** A command of Keyturn without anything that only a shell can do, but for a file for its output, and perhaps with a comment. */
const PLAIN_COMMAND = /^ *npx keyturn ((?:'[^']*'|[^'"`$<>|;&#\\()*?\s]+| +(?![#>]))+)(?: +> (\S+))?(?: +#.*)?$/
const PROGRAMS = `
npx() { local name=$1; shift; if [ $name = buf ]; then "$NODE" "$BUF" "$@"; else "$NODE" "$MAIN" "$@"; fi; }
node() { "$NODE" "$@"; }
`

interface Surroundings {
  readonly folder: string
  /** On top of PATH and HOME. */
  readonly env: Readonly<Record<string, string>>
}

/** Runs a command in a folder, whatever comes of it. */
export async function runOfPage(command: string, { folder, env }: Surroundings): Promise<Ended> {
  const [, words, file] = PLAIN_COMMAND.exec(command) ?? []
  if (words === undefined) return await runInShell(command, { folder, env })
  // The pages name files of the current folder.
  const inFolder = (word: string) => (/^[^:]+\.(json|yaml)$/.test(word) ? resolve(folder, word) : word)
  const args = [...words.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? inFolder(plain))
  const ended = await runKeyturnInProcess(args, env)
  if (file === undefined) return ended
  await writeFile(resolve(folder, file), ended.stdout)
  return { ...ended, stdout: '' }
}

/** Runs a command in a folder in a shell, whatever comes of it. */
export async function runInShell(command: string, { folder, env }: Surroundings): Promise<Ended> {
  const shell = spawn('bash', ['-eo', 'pipefail', '-c', PROGRAMS + command], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE: process.execPath,
      MAIN: join(ROOT, 'src/cli/keyturn.js'),
      BUF: join(ROOT, 'node_modules/@bufbuild/buf/bin/buf'),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
  return { code: code as number | null, stdout, stderr }
}
