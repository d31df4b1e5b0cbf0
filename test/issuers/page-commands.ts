/**
 * Runs the commands of a section of `docs/federation.md` in a shell, beside a server.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { commandsOf } from '../support/federation-page.ts'
import { GO_PROGRAMS_ENV } from '../support/go-programs.ts'

const MAIN = join(import.meta.dirname, '../../src/cli/keyturn.js')

/** What the commands of a section find. */
export interface Surroundings {
  /** Where files are written. */
  readonly folder: string
  /** The data directory of the server, with the credentials of its administrator. */
  readonly dataDir: string
  /** What stands where the page has an example. */
  readonly instead: Readonly<Record<string, string>>
  /** Definitions of commands that need more options here, in shell. */
  readonly functions?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Runs them one after another, as far as the first that fails. @throws {Error} with what it printed. */
export async function runSection(section: string, surroundings: Surroundings): Promise<string> {
  const { folder, dataDir, instead, functions = '', env = {} } = surroundings
  let commands = commandsOf(section).join('\n')
  for (const [example, value] of Object.entries(instead)) commands = commands.replaceAll(example, value)
  const script = `keyturn() { "$NODE" "$MAIN" "$@"; }\n${functions}\n${commands}`
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...GO_PROGRAMS_ENV, NODE: process.execPath, MAIN, KEYTURN_DATA_DIR: dataDir, ...env },
  })
  return stdout
}
