/**
 * Runs the command that prints the master keys, for example one that asks a vault or a key management service.
 *
 * Its standard output never reaches an error or a log.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../domain/ports/runtime.ts'

const TIME_LIMIT_MILLIS = 30_000
const MAX_OUTPUT_BYTES = 64 * 1024
const MAX_LOGGED_CHARACTERS = 4096

/** How long its pipes may stay open after it has exited: a process that it started may hold them. */
const PIPES_GRACE_MILLIS = 1_000

/** Anything like a key in standard error, such as the trace of a shell: base64 or base64url. */
const LIKE_A_KEY = /[\w+/-]{43,}={0,2}/g

/** How to run the command. */
export interface ProcessOptions {
  readonly log: Log
  /** Kills it. */
  readonly signal?: AbortSignal | undefined
  /** Default 30 seconds. */
  readonly timeLimitMillis?: number
}

/**
 * Runs a program without a shell, with the environment of this process, and returns its standard output. Its standard
 * error goes to the log.
 *
 * @throws {Error} if it cannot be run, fails, or takes more than 30 seconds or 64 KiB; the signal's reason if it aborts.
 */
export async function outputOfMasterKeyCommand(
  [program = '', ...args]: readonly string[],
  { log, signal, timeLimitMillis = TIME_LIMIT_MILLIS }: ProcessOptions,
): Promise<string> {
  signal?.throwIfAborted()
  // A process group of its own, so that its child processes can be killed with it.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const closed = new Promise((resolve) => child.once('close', resolve))
  const failed = Promise.withResolvers<never>()
  const onAbort = () => failed.reject(signal?.reason)
  const timer = setTimeout(() => failed.reject(new Error('it took too long')), timeLimitMillis)
  signal?.addEventListener('abort', onAbort, { once: true })
  const stdout = collect(child.stdout, () => failed.reject(new Error(`it printed more than ${MAX_OUTPUT_BYTES} bytes`)))
  const stderr = collect(child.stderr, () => {})
  try {
    // Also rejects if the program cannot be run.
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

/** Collects the data of a stream up to a limit. The rest is read and dropped. */
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

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended.
  }
}
