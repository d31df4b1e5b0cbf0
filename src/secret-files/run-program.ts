/**
 * Programs that give or take a secret. No shell sees their arguments, and what they print is in no error.
 */
import { spawn } from 'node:child_process'

/** For what a program printed before it ended, in milliseconds: a child of it may hold its output open. */
const OUTPUT_MILLIS = 1000

/** How much is kept of what it prints on each output, in characters, or a little more. */
export const KEPT_CHARACTERS = 262_144

interface RunOptions {
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
  /** When it is killed, in milliseconds. */
  readonly timeout: number
  /** Kills it. */
  readonly signal?: AbortSignal | undefined
}

export interface Ended {
  readonly stdout: string
  readonly stderr: string
  /** Why it failed. Undefined: it did not. */
  readonly problem: string | undefined
}

export async function runProgram(
  [program = '', ...args]: readonly string[],
  { input = '', ...options }: RunOptions,
): Promise<Ended> {
  const said = { stdout: '', stderr: '' }
  const child = spawn(program, args, { ...options, killSignal: 'SIGKILL' })
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (said[name].length <= KEPT_CHARACTERS) said[name] += text
    })
    child.on('exit', () => setTimeout(() => child[name].destroy(), OUTPUT_MILLIS).unref())
  }
  // A program that reads none of it may close its end first. Its exit code says whether that was right.
  child.stdin.on('error', () => {}).end(input)
  return await new Promise((resolve) => {
    child.on('error', ({ code }: NodeJS.ErrnoException) => resolve({ ...said, problem: `cannot be run (${code})` }))
    child.on('close', (code, ending) => {
      const how = child.killed ? 'took too long' : `ended with ${ending ?? `exit code ${code}`}`
      resolve({ ...said, problem: code === 0 ? undefined : how })
    })
  })
}
