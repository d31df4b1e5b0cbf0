/**
 * Opens the database that everything else in this folder works on: a PostgreSQL server, or PGlite in this process.
 *
 * It neither creates tables (`migrate.ts`) nor keeps a second process away from an embedded database
 * (`data-directory.ts`).
 */
import { mkdir } from 'node:fs/promises'
import type { PGlite } from '@electric-sql/pglite'
import { Kysely, PGliteDialect } from 'kysely'
import type { Log } from '../domain/ports.ts'
import { createPostgresPools, type PoolUse, type PostgresOptions } from './postgres-pool.ts'
import { RowLockPostgresDialect } from './row-lock-dialect.ts'
import type { Tables } from './tables.ts'

/** Which database to use. */
export type DatabaseOptions =
  | ({ readonly kind: 'postgres' } & PostgresOptions)
  | {
      readonly kind: 'embedded'
      /** Where the files are; null keeps everything in memory. Created if missing. */
      readonly folder: string | null
      readonly log: Log
    }

/** An open database. */
export interface Database {
  readonly kind: DatabaseOptions['kind']
  readonly db: Kysely<Tables>
  /** For what a replica reads. On PostgreSQL it has connections of its own, which nothing else can use up. */
  readonly serving: Kysely<Tables>
  /** Whether changes are announced to the change feeds of other processes. */
  readonly announcesChanges: boolean
  /** How the pools of connections are used, by their names. An embedded database has none. */
  pools(): Readonly<Record<string, PoolUse>>
  /** Waits for what is running and lets go of every connection. Nothing can be run afterwards. */
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
  return options.kind === 'postgres' ? openPostgres(options) : await openEmbedded(options.folder)
}

function openPostgres(options: PostgresOptions): Database {
  const { serving: servingPool, administration } = createPostgresPools(options)
  const db = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: administration }) })
  const serving = new Kysely<Tables>({ dialect: new RowLockPostgresDialect({ pool: servingPool }) })
  return {
    kind: 'postgres',
    db,
    serving,
    announcesChanges: options.changeFeed !== 'poll',
    pools: () => ({ serving: servingPool.use(), administration: administration.use() }),
    close: async () => {
      await Promise.all([db.destroy(), serving.destroy()])
    },
  }
}

async function openEmbedded(folder: string | null): Promise<Database> {
  const pglite = await startPGlite(folder)
  const db = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite }) })
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    // There is one connection, so whoever gets it is the last one; Kysely would close PGlite under a transaction.
    await db.connection().execute(async () => {})
    await db.destroy()
  }
  return {
    kind: 'embedded',
    db,
    serving: db,
    announcesChanges: false,
    pools: () => ({}),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

async function startPGlite(folder: string | null): Promise<PGlite> {
  // Not at the top: a server on PostgreSQL need not load a database that it does not use.
  const { PGlite } = await import('@electric-sql/pglite')
  if (folder === null) return await PGlite.create('memory://')
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return await PGlite.create(`file://${folder}`)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`the embedded database in ${folder} cannot be opened: ${reason}`, { cause: error })
  }
}
