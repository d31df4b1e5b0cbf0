/**
 * Time limits of a graceful shutdown, in milliseconds, and what bounds the last writes: refusals, dates of last use, the own row among the replicas.
 */
import type { Log } from '../domain/ports/runtime.ts'
import type { Clock } from '../domain/time.ts'
import type { Database } from '../storage/postgres/database.ts'
import { LAST_SPANS_MILLIS } from '../telemetry/tracing/tracing.ts'
import type { CleanupStack } from './cleanup-stack.ts'

/** For requests in flight. The rest is cut off. */
export const GRACE = 10_000

/** For pending writes, such as of dates of last use. After that the connections to the database are closed under them. */
const LAST_WRITES = 3_000

/** For pending writes, for the last spans, and for closing the database, which takes up to a second if it does not respond. */
const MARGIN = LAST_WRITES + LAST_SPANS_MILLIS + 1_000

/**
 * From the end of the drain to the exit of a worker, or of a server without an embedded database. A worker that takes longer hangs.
 * Stopping the embedded database may take 15 seconds more.
 */
export const STOP_LIMIT = GRACE + MARGIN

const TOO_LATE = 'the database did not confirm the last writes in time: refusals and dates of last use may be lost'

interface LastWritesOptions {
  readonly databases: readonly Pick<Database, 'close'>[]
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
  /** Of the server. What is deferred later is bounded. */
  readonly stack: CleanupStack
}

/**
 * Returns what has to be called when no request is in flight any more. `LAST_WRITES` later the databases are closed, which ends all writes,
 * unless the stack has come by then to what was deferred before this call.
 */
export function limitLastWrites({ databases, clock, log, stack }: LastWritesOptions): () => void {
  let cancel = (): void => {}
  stack.defer(() => cancel())
  return () => {
    cancel = clock.after(LAST_WRITES, () => {
      log.warn({ milliseconds: LAST_WRITES }, TOO_LATE)
      // The stack closes them again, which reports a failure.
      for (const database of databases) void database.close().catch(() => {})
    })
  }
}
