/**
 * Tools of other languages, for tests that are skipped where they are missing.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { SHORT_LIVED_JVM } from './short-lived-jvm.ts'

/** What outlives a run, such as installed packages. Removing it costs nothing but time. */
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/keyturn-clients')

/** How tools are made ready. Commands are for bash. */
export interface ForeignTools {
  /** What must be there: commands that fail if it is not, by what to call it. */
  readonly needs: Readonly<Record<string, string>>
  /** Gets packages into `$CACHE`. If that fails, the tests are skipped. */
  readonly install?: string
}

/** Runs commands in a folder and returns what they print. @throws {Error} with all that they print, if they fail. */
export type Shell = (commands: string, env?: Readonly<Record<string, string>>) => Promise<string>

/** What the machine lacks, for people. */
export function missing({ needs }: Pick<ForeignTools, 'needs'>): string | undefined {
  const names = Object.entries(needs).flatMap(([name, command]) => {
    try {
      execFileSync('bash', ['-c', command], { stdio: 'ignore' })
      return []
    } catch {
      return [name]
    }
  })
  return names.length === 0 ? undefined : `there is no ${names.join(' and no ')}`
}

/** Why the packages cannot be installed; undefined when they are. */
export async function cannotInstall(
  { install }: Pick<ForeignTools, 'install'>,
  shell: Shell,
): Promise<string | undefined> {
  if (install === undefined) return undefined
  try {
    await shell(install)
    return undefined
  } catch (error) {
    const lines = String(error).trim().split('\n')
    return `its packages cannot be installed: ${lines.at(-1)}`
  }
}

/** Commands run in `cwd`, with a folder of this name for what outlives a run as `$CACHE`, whose `bin` comes first in the path. */
export function shellIn(cwd: string, name: string): Shell {
  const cache = join(CACHE, name)
  mkdirSync(cache, { recursive: true })
  const tools = {
    PATH: [join(cache, 'bin'), process.env.PATH].join(delimiter),
    CACHE: cache,
    MAVEN_OPTS: [SHORT_LIVED_JVM, process.env.MAVEN_OPTS].join(' '),
  }
  return async (commands, env = {}) => {
    const options = { cwd, env: { ...process.env, ...tools, ...env }, maxBuffer: 16 * 1024 * 1024 }
    try {
      return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options)).stdout
    } catch (error) {
      // Maven says on standard output what is wrong.
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${commands}\n${stdout}${stderr}`)
    }
  }
}
