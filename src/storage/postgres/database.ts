/**
 * Opens the database of the stores: a PostgreSQL server, or PGlite in a thread.
 *
 * It neither creates tables (`migrate.ts`) nor keeps a second process away from an embedded database
 * (`data-directory.ts`).
 */
import { Kysely, type LogEvent } from 'kysely'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports.ts'
import { embeddedDialect } from '../embedded-dialect.ts'
import { openFolder } from '../embedded-folder.ts'
import { EmbeddedSession } from '../embedded-session.ts'
import type { Tables } from '../schema/tables.ts'
import { createPostgresPools, type PoolUse, type PostgresOptions, STATEMENT_TIMEOUT_MILLIS } from './postgres-pool.ts'
import { RowLockPostgresDialect } from './row-lock-dialect.ts'
import { meaningOfRefusal } from './storage-errors.ts'

/** Which database to use. */
export type DatabaseOptions = ({ readonly kind: 'postgres' } & PostgresOptions) | EmbeddedOptions

interface EmbeddedOptions {
  readonly kind: 'embedded'
  /** Where the files are; null keeps everything in memory. Created if missing. */
  readonly folder: string | null
  readonly log: Log
}

/** An open database. */
export interface Database {
  readonly kind: DatabaseOptions['kind']
  readonly db: Kysely<Tables>
  /** For changes under the lock of the instance: with timeouts for a client that hangs while it holds the lock. */
  readonly changes: Kysely<Tables>
  /** How long a change may wait for that lock, over all its attempts, in milliseconds. */
  readonly lockWaitMillis: number
  /** For the reads of a replica. On PostgreSQL it has a pool of its own. */
  readonly serving: Kysely<Tables>
  /** Whether changes are announced to the change feeds of other processes. */
  readonly announcesChanges: boolean
  /** The use of the connection pools, by their names. An embedded database has none. */
  pools(): Readonly<Record<string, PoolUse>>
  /** Waits for running statements and closes every connection. Nothing can be run afterwards. */
  close(): Promise<void>
}

/**
 * Opens a database. A PostgreSQL server is not contacted before the first query.
 *
 * Only one process at a time may open the same folder: hold `lockDataDirectory` around it.
 *
 * @throws {Error} if the URL cannot be read, or the folder cannot be used.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.kind === 'postgres' ? openPostgres(options) : await openEmbedded(options)
}

function openPostgres(options: PostgresOptions): Database {
  const { serving: servingPool, administration, changes: changesPool } = createPostgresPools(options)
  const log = logRefusals(options.log)
  const db = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: administration }), log })
  const changes = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: changesPool }), log })
  const serving = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: servingPool }), log })
  return {
    kind: 'postgres',
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

async function openEmbedded({ folder, log }: EmbeddedOptions): Promise<Database> {
  const session = await (folder === null ? EmbeddedSession.open('memory://') : openFolder(folder))
  const db = new Kysely<Tables>({ dialect: embeddedDialect(session, folder, log) })
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    // There is one connection, so whoever gets it is the last one; Kysely would close the database under a transaction.
    await db
      .connection()
      .execute(async () => {})
      // One that has broken down is closed all the same.
      .catch(() => {})
    await db.destroy()
  }
  return {
    kind: 'embedded',
    db,
    changes: db,
    // There is one connection, so the lock is free.
    lockWaitMillis: 0,
    serving: db,
    announcesChanges: false,
    pools: () => ({}),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
