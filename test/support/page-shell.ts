/**
 * Runs the commands of a page in a shell, in which `npx keyturn` is the command line of the checkout.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Ended } from './terminal.ts'

const ROOT = join(import.meta.dirname, '../..')
const PROGRAMS = `
npx() { local name=$1; shift; if [ $name = buf ]; then "$NODE" "$BUF" "$@"; else "$NODE" "$MAIN" "$@"; fi; }
node() { "$NODE" "$@"; }
`

/** Runs a command in a folder, with these variables on top of PATH and HOME, whatever comes of it. */
export async function runInShell(
  command: string,
  { folder, env }: { readonly folder: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<Ended> {
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
