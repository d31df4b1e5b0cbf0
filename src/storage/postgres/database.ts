/**
 * Opens the database of the stores, on a PostgreSQL server.
 *
 * It does not create tables: `migrate.ts` does.
 */
import { Kysely, type LogEvent, PostgresDialect, type Transaction } from 'kysely'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Tables } from '../schema/tables.ts'
import { createPostgresPools, type PoolUse, type PostgresOptions, STATEMENT_TIMEOUT_MILLIS } from './postgres-pool.ts'
import { meaningOfRefusal, usingStorageWithRetries } from './storage-errors.ts'

export interface Database {
  readonly db: Kysely<Tables>
  /** For changes under the lock of the instance: with timeouts for a client that hangs while it holds the lock. */
  readonly changes: Kysely<Tables>
  /** How long a change may wait for that lock, over all its attempts, in milliseconds. */
  readonly lockWaitMillis: number
  /** For the reads of a replica: a pool of its own. */
  readonly serving: Kysely<Tables>
  /** Whether changes are announced to the change feeds of other processes. */
  readonly announcesChanges: boolean
  pools(): Readonly<Record<string, PoolUse>>
  /** Closes every connection. Statements that run have a second to end; nothing can be run afterwards. A repeated call waits for the first. */
  close(): Promise<void>
}

/** Opens a database. The server is not contacted before the first query. @throws {Error} if the URL cannot be read. */
export function openDatabase(options: PostgresOptions): Database {
  const { serving: servingPool, administration, changes: changesPool } = createPostgresPools(options)
  const log = logRefusals(options.log)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: administration }), log })
  const changes = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: changesPool }), log })
  const serving = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: servingPool }), log })
  return {
    db,
    changes,
    lockWaitMillis: options.statementTimeoutMillis ?? STATEMENT_TIMEOUT_MILLIS,
    serving,
    announcesChanges: options.changeFeed !== 'poll',
    pools: () => ({ serving: servingPool.use(), administration: administration.use() }),
    close: async () => {
      await Promise.all([changes.destroy(), db.destroy(), serving.destroy()])
    },
  }
}

/** Logs why the database refuses. Callers get the meaning only. */
function logRefusals(log: Log): (event: LogEvent) => void {
  const throttle = new LogThrottle()
  return (event) => {
    if (event.level !== 'error') return
    const meaning = meaningOfRefusal(event.error)
    if (meaning === undefined || !throttle.admits(meaning, performance.now())) return
    log.warn({ reason: String(event.error) }, `the database refuses: ${meaning}`)
  }
}

/** Reads in a transaction of its own, REPEATABLE READ and READ ONLY. It may run more than once. @throws {DomainError} `storage_unavailable`. */
export function readSnapshot<T>(db: Kysely<Tables>, read: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
  return usingStorageWithRetries(() =>
    db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read),
  )
}
