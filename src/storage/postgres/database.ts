/**
 * Opens the database that everything else in this folder works on, which is on a PostgreSQL server.
 *
 * It does not create tables: `migrate.ts` does.
 */
import { Kysely, type LogEvent } from 'kysely'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports.ts'
import type { Tables } from '../schema/tables.ts'
import { createPostgresPools, type PoolUse, type PostgresOptions, STATEMENT_TIMEOUT_MILLIS } from './postgres-pool.ts'
import { RowLockPostgresDialect } from './row-lock-dialect.ts'
import { meaningOfRefusal } from './storage-errors.ts'

/** An open database. */
export interface Database {
  readonly db: Kysely<Tables>
  /** For changes under the lock of the instance: with limits on how long a client that falls silent can keep it. */
  readonly changes: Kysely<Tables>
  /** How long a change may wait for that lock, over all its attempts, in milliseconds. */
  readonly lockWaitMillis: number
  /** For what a replica reads: it has connections of its own, which nothing else can use up. */
  readonly serving: Kysely<Tables>
  /** Whether changes are announced to the change feeds of other processes. */
  readonly announcesChanges: boolean
  /** How the pools of connections are used, by their names. */
  pools(): Readonly<Record<string, PoolUse>>
  /** Waits for what is running and lets go of every connection. Nothing can be run afterwards. */
  close(): Promise<void>
}

/**
 * Opens a database. The server is not contacted before the first query.
 *
 * @throws {Error} if the URL cannot be read.
 */
export function openDatabase(options: PostgresOptions): Database {
  const { serving: servingPool, administration, changes: changesPool } = createPostgresPools(options)
  const log = logRefusals(options.log)
  const db = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: administration }), log })
  const changes = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: changesPool }), log })
  const serving = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: servingPool }), log })
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

/** Logs why the database refuses what is asked of it, here and for all callers, who only learn that it does. */
function logRefusals(log: Log): (event: LogEvent) => void {
  const throttle = new LogThrottle()
  return (event) => {
    if (event.level !== 'error') return
    const meaning = meaningOfRefusal(event.error)
    if (meaning === undefined || !throttle.admits(meaning, performance.now())) return
    log.warn({ reason: String(event.error) }, `the database refuses: ${meaning}`)
  }
}
