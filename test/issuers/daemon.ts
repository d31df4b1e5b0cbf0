/**
 * Servers of other projects, as processes of the test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { eventually } from '../support/eventually.ts'
import { GO_PROGRAMS_ENV } from '../support/go-programs.ts'

/** A running server. */
export interface Daemon {
  /** Ends it, and waits until it has ended. May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts a server and waits until it is ready.
 *
 * @param isReady Throws until it is.
 * @throws {Error} with what it printed, if it ends before.
 */
export async function startDaemon([program = '', ...args]: readonly string[], isReady: () => unknown): Promise<Daemon> {
  const child = spawn(program, args, { env: GO_PROGRAMS_ENV, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  try {
    await eventually(() => (hasEnded(child) ? undefined : isReady()))
  } catch (error) {
    await end(child)
    throw new Error(`${program} does not get ready:\n${output}`, { cause: error })
  }
  if (hasEnded(child)) throw new Error(`${program} ended:\n${output}`)
  return { stop: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
