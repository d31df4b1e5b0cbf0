/**
 * Runs the command that prints the master keys, for example one that asks a vault or a key management service.
 *
 * What it prints on standard output is nobody else's business: it is in no message and no log.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../domain/ports.ts'

const TIME_LIMIT_MILLIS = 30_000
const MAX_OUTPUT_BYTES = 64 * 1024
const MAX_LOGGED_CHARACTERS = 4096

/** How long its pipes may stay open after it has ended, because something that it leaves behind has them too. */
const PIPES_GRACE_MILLIS = 1_000

/** What could be a key in a text for people, such as the trace of a shell, in either alphabet of base64. */
const LIKE_A_KEY = /[\w+/-]{43,}={0,2}/g

/** How to run it. */
export interface ProcessOptions {
  readonly log: Log
  /** Ends it. */
  readonly signal?: AbortSignal | undefined
  /** Default 30 seconds. */
  readonly timeLimitMillis?: number
}

/**
 * Runs a program without a shell, with the environment of this process, and returns its standard output. What it says on
 * standard error goes to the log.
 *
 * @throws {Error} if it cannot be run, fails, or takes more than 30 seconds or 64 KiB; the signal's reason if it aborts.
 */
export async function outputOfMasterKeyCommand(
  [program = '', ...args]: readonly string[],
  { log, signal, timeLimitMillis = TIME_LIMIT_MILLIS }: ProcessOptions,
): Promise<string> {
  signal?.throwIfAborted()
  // A group of its own, so that what it starts itself can be ended with it.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const closed = new Promise((resolve) => child.once('close', resolve))
  const failed = Promise.withResolvers<never>()
  const onAbort = () => failed.reject(signal?.reason)
  const timer = setTimeout(() => failed.reject(new Error('it took too long')), timeLimitMillis)
  signal?.addEventListener('abort', onAbort, { once: true })
  const stdout = collect(child.stdout, () => failed.reject(new Error(`it printed more than ${MAX_OUTPUT_BYTES} bytes`)))
  const stderr = collect(child.stderr, () => {})
  try {
    // Also rejects with the error of a program that cannot be run.
    const [code, endedBy] = await Promise.race([once(child, 'exit'), failed.promise])
    await Promise.race([closed, delay(PIPES_GRACE_MILLIS, undefined, { ref: false }), failed.promise])
    if (code !== 0) throw new Error(`it ended with ${code === null ? endedBy : `exit code ${code}`}`)
    return stdout()
  } catch (error) {
    killGroup(child)
    throw error
  } finally {
    child.stdout.destroy()
    child.stderr.destroy()
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    const said = stderr().trim().replaceAll(LIKE_A_KEY, '***').slice(0, MAX_LOGGED_CHARACTERS)
    if (said !== '') log.warn({ stderr: said }, 'the command for the master keys wrote to its standard error')
  }
}

/** Keeps what a stream says up to a limit, and lets the rest go by. */
function collect(stream: Readable, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = []
  let length = 0
  stream.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length <= MAX_OUTPUT_BYTES) chunks.push(chunk)
    else onTooMuch()
  })
  return () => Buffer.concat(chunks).toString('utf8')
}

/** Ends it with all that it has started. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All of them are gone already.
  }
}
