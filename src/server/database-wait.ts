/**
 * Retries at the start until the database is available, with exponential backoff and jitter: orchestrators start both at once,
 * and a server may restart during a fail-over.
 *
 * Only transient errors are retried. An error that an operator must correct, such as a wrong password, ends the start.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import type { Log } from '../domain/ports.ts'
import { addressOf } from '../storage/postgres/postgres-pool.ts'
import { mayPass, whyUnavailable } from '../storage/postgres/storage-errors.ts'

const FIRST_BACKOFF_MILLIS = 250
const MAX_BACKOFF_MILLIS = 5_000

/** How often the wait is logged. */
const WARN_EVERY_MILLIS = 10_000

/** How to wait. */
export interface WaitOptions {
  readonly config: Config
  readonly log: Log
  /** Aborts the wait. */
  readonly signal: AbortSignal
  /** Called with the reason why the server is not ready, which is public. */
  readonly onWaiting: (reason: string) => void
}

/**
 * Calls `attempt` until it succeeds. It must be idempotent.
 *
 * @throws the reason of the signal when it is aborted; the errors of `attempt` that are not transient.
 */
export async function whenAvailable<T>(attempt: () => Promise<T>, options: WaitOptions): Promise<T> {
  const { config, log, signal, onWaiting } = options
  const aborted = rejectionOf(signal)
  let warnedAt = Number.NEGATIVE_INFINITY
  for (let failures = 0; ; failures += 1) {
    signal.throwIfAborted()
    try {
      // An attempt that a signal leaves behind fails when the database is closed.
      return await Promise.race([attempt(), aborted])
    } catch (error) {
      if (config.database.kind !== 'postgres' || !(error instanceof Error) || !mayPass(error)) throw error
      onWaiting('waiting for the database, which is not available')
      if (performance.now() - warnedAt >= WARN_EVERY_MILLIS) {
        log.warn({}, `waiting for the database at ${addressOf(config.database.url)}: ${whyUnavailable(error)}`)
        warnedAt = performance.now()
      }
    }
    await delay(backoffMillis(failures), undefined, { signal }).catch(() => {})
  }
}

/** Doubles up to a limit. The jitter in its upper half keeps replicas from retrying at once. */
function backoffMillis(failures: number): number {
  return Math.min(MAX_BACKOFF_MILLIS, FIRST_BACKOFF_MILLIS * 2 ** failures) * (0.5 + Math.random() / 2)
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  // A rejection without a waiter is no error.
  promise.catch(() => {})
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}
