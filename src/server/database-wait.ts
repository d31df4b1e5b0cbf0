/**
 * Retries at the start until the database is available, with exponential backoff and jitter: orchestrators start both at once,
 * and a server may restart during a fail-over.
 *
 * Only transient errors are retried. An error that an operator must correct, such as a wrong password, ends the start.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../domain/ports/runtime.ts'
import { backoffMillis } from '../domain/time.ts'
import { addressOf } from '../storage/postgres/postgres-pool.ts'
import { isTransient, whyUnavailable } from '../storage/postgres/storage-errors.ts'

const RETRY = { first: 250, longest: 5_000 }

const WARN_EVERY_MILLIS = 10_000

export interface WaitOptions {
  readonly databaseUrl: string
  readonly log: Log
  readonly signal: AbortSignal
  /** Called with the reason why the server is not ready, which is public. */
  readonly onWaiting: (reason: string) => void
}

/**
 * Calls `attempt` until it succeeds. It must be idempotent.
 * @throws the reason of the signal when it is aborted; the errors of `attempt` that are not transient.
 */
export async function whenAvailable<T>(attempt: () => Promise<T>, options: WaitOptions): Promise<T> {
  const { databaseUrl, log, signal, onWaiting } = options
  const aborted = rejectionOf(signal)
  let warnedAt = Number.NEGATIVE_INFINITY
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted()
    try {
      // An attempt that a signal leaves behind fails when the database is closed.
      return await Promise.race([attempt(), aborted])
    } catch (error) {
      if (!(error instanceof Error) || !isTransient(error)) throw error
      onWaiting('waiting for the database, which is not available')
      if (performance.now() - warnedAt >= WARN_EVERY_MILLIS) {
        log.warn({}, `waiting for the database at ${addressOf(databaseUrl)}: ${whyUnavailable(error)}`)
        warnedAt = performance.now()
      }
    }
    const wait = backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 })
    await delay(wait, undefined, { signal }).catch(() => {})
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  // A rejection without a waiter is no error.
  promise.catch(() => {})
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}
