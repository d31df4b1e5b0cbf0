/**
 * A start waits for its database: orchestrators start both at once, and a server that is restarted during a fail-over
 * shall be there when the database is.
 *
 * It waits for what may pass. What an operator has to mend, such as a wrong password, ends the start with a message.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMillis } from '../domain/backoff.ts'
import type { Log } from '../domain/ports.ts'
import { addressOf } from '../storage/postgres/postgres-pool.ts'
import { isTransient, whyUnavailable } from '../storage/postgres/storage-errors.ts'

const RETRY = { first: 250, longest: 5_000 }

/** How often it is logged that there still is no database. */
const TELL_EVERY_MILLIS = 10_000

/** How to wait. */
export interface WaitOptions {
  readonly databaseUrl: string
  readonly log: Log
  /** Ends the waiting. */
  readonly signal: AbortSignal
  /** Told why the server is not ready, in words that anybody may read. */
  readonly onWaiting: (reason: string) => void
}

/**
 * Does something with the database as soon as that is there. It must be possible to do it again.
 *
 * @throws the reason of the signal when it is aborted; whatever `attempt` throws that does not pass by itself.
 */
export async function whenAvailable<T>(attempt: () => Promise<T>, options: WaitOptions): Promise<T> {
  const { databaseUrl, log, signal, onWaiting } = options
  const aborted = rejectionOf(signal)
  let toldAt = Number.NEGATIVE_INFINITY
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted()
    try {
      // What is left behind by a signal fails when the database is closed.
      return await Promise.race([attempt(), aborted])
    } catch (error) {
      if (!(error instanceof Error) || !isTransient(error)) throw error
      onWaiting('waiting for the database, which is not available')
      if (performance.now() - toldAt >= TELL_EVERY_MILLIS) {
        log.warn({}, `waiting for the database at ${addressOf(databaseUrl)}: ${whyUnavailable(error)}`)
        toldAt = performance.now()
      }
    }
    const wait = backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 })
    await delay(wait, undefined, { signal }).catch(() => {})
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  // Whoever waits hears of it; that nobody waits any more is no error.
  promise.catch(() => {})
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}
