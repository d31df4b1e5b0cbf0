/** Opens the configured database. The embedded one is started for that, and is then like any other PostgreSQL. */
import type { Config } from '../config/config.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { hasDatabaseFolder } from '../embedded-postgres/database-folder.ts'
import { startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts'
import { socketUrl } from '../embedded-postgres/socket.ts'
import { createInstanceInitializer } from '../storage/instance/instance-initializer.ts'
import { migrate } from '../storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../storage/postgres/database.ts'
import type { PostgresOptions } from '../storage/postgres/postgres-pool.ts'
import { type CleanupStack, withCleanup } from './cleanup-stack.ts'

/**
 * Starts the embedded database until the stack is disposed of, if that is the configured one.
 * @param signal Aborts the start: the call then throws its reason.
 * @returns The folder with its socket; null if another database is configured.
 * @throws {Error} that says what to do.
 */
export async function startEmbedded(
  config: Config,
  log: Log,
  { stack, signal }: { readonly stack: CleanupStack; readonly signal?: AbortSignal | undefined },
): Promise<string | null> {
  if (config.database.kind !== 'embedded') return null
  const { dataDir, databaseMaxConnections, workers } = config
  const embedded = await startEmbeddedPostgres({ dataDir, connections: databaseMaxConnections * workers, log, signal })
  stack.defer(() => embedded.stop())
  return embedded.folder
}

/** Where the configured database is. @param socketFolder Of the embedded database, if that is the configured one. */
export function databaseOptions(
  { database, databaseMaxConnections: maxConnections, changeFeed }: Config,
  socketFolder: string | null,
  log: Log,
): PostgresOptions {
  if (database.kind === 'postgres') return { url: database.url, log, maxConnections, changeFeed }
  if (socketFolder === null) throw new Error('the embedded database was not started')
  return { url: socketUrl(socketFolder), log, maxConnections, changeFeed }
}

/** Connections to the database of the primary region: two batches of assertions are written at once, beside what can wait. */
export const PRIMARY_CONNECTIONS = 5

/** Opens the database of the primary region, for a replica on a standby; null if none is configured. Nothing is connected yet. */
export function openPrimary({ primary }: Config, log: Log, stack: CleanupStack): Database | null {
  if (primary.databaseUrl === null) return null
  const options = { url: primary.databaseUrl, log, maxConnections: PRIMARY_CONNECTIONS, changeFeed: 'poll' } as const
  return openUntilDisposed(options, stack)
}

/**
 * Opens the configured database for a command, until the stack is disposed of.
 * @param signal Aborts the start of the embedded one.
 * @throws {Error} that says what to do.
 */
async function openConfigured(
  config: Config,
  log: Log,
  { stack, signal }: { readonly stack: CleanupStack; readonly signal?: AbortSignal },
): Promise<Database> {
  const socketFolder = await startEmbedded(config, log, { stack, signal })
  return openUntilDisposed(databaseOptions(config, socketFolder, log), stack)
}

export function openUntilDisposed(options: PostgresOptions, stack: CleanupStack): Database {
  const database = openDatabase(options)
  stack.defer(() => database.close())
  return database
}

/** Runs a command on the database that is there: it creates no embedded one. @throws {Error} that says what to do. */
export async function withExisting<T>(config: Config, log: Log, work: (database: Database) => Promise<T>): Promise<T> {
  const { database, dataDir } = config
  if (database.kind === 'embedded' && !(await hasDatabaseFolder(dataDir)))
    throw new Error(
      `there is no embedded database in ${dataDir}: name the data directory of the server with --data-dir`,
    )
  return await withCleanup(async (stack) => await work(await openConfigured(config, log, { stack })))
}

/** The same on an instance that has been set up, with the schema of this version. */
export async function withInstance<T>(config: Config, log: Log, work: (database: Database) => Promise<T>): Promise<T> {
  return await withExisting(config, log, async (database) => {
    await migrate(database)
    await assertSetUp(database)
    return await work(database)
  })
}

/** @throws {Error} that says what to do, if no server has set up the instance. */
export async function assertSetUp(database: Database): Promise<void> {
  if (await createInstanceInitializer(database).isInitialised()) return
  throw new Error('the instance has not been set up: "keyturn serve" does that when it starts')
}

/** Brings the schema of the configured database up to date. @returns The names of the migrations that were applied. */
export async function migrateDatabase(config: Config, log: Log, signal: AbortSignal): Promise<readonly string[]> {
  return await withCleanup(async (stack) => await migrate(await openConfigured(config, log, { stack, signal })))
}
