/** Time limits of a graceful shutdown, in milliseconds. */
import { LAST_SPANS_MILLIS } from '../telemetry/tracing/tracing.ts'

/** For requests in flight. The rest is cut off. */
export const GRACE = 10_000

/**
 * For pending writes when no request is in flight any more: refusals, dates of last use, the own row among the replicas. After that the
 * connections to the database are closed under them.
 */
export const LAST_WRITES = 3_000

/**
 * From the end of the drain to the exit of a worker, or of a server without an embedded database: also for the last spans, and for closing the
 * database, which takes up to a second if it does not respond. A worker that takes longer hangs.
 * Stopping the embedded database may take 15 seconds more.
 */
export const STOP_LIMIT = GRACE + LAST_WRITES + LAST_SPANS_MILLIS + 1_000

/** From the signal to the exit. @param drainSeconds Of the configuration. */
export function stopLimit(drainSeconds: number, drains: boolean): number {
  return (drains ? drainSeconds * 1000 : 0) + STOP_LIMIT
}
