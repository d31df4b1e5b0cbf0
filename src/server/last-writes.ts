/**
 * Bounds what a server writes to its databases while it stops: refusals, dates of last use, its own row among the replicas.
 */
import type { Log } from '../domain/ports/runtime.ts'
import type { Clock } from '../domain/time.ts'
import type { Database } from '../storage/postgres/database.ts'
import type { CleanupStack } from './cleanup-stack.ts'
import { LAST_WRITES } from './stop-limit.ts'

const TOO_LATE = 'the database did not confirm the last writes in time: refusals and dates of last use may be lost'

/** What it needs. */
export interface LastWritesOptions {
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
