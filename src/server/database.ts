/**
 * Opens the configured database, and its folder if it has one.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, DATABASE_FOLDER } from '../config/config.ts'
import type { Log } from '../domain/ports.ts'
import { lockDataDirectory } from '../storage/data-directory.ts'
import { createInstanceInitializer } from '../storage/instance/instance-initializer.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../storage/postgres/database.ts'

/** Opens the database until the stack is disposed of. @throws {Error} that says what to do. */
export async function openConfigured(config: Config, log: Log, stack: AsyncDisposableStack): Promise<Database> {
  if (config.database.kind === 'embedded') {
    const lock = await lockDataDirectory(config.dataDir)
    stack.defer(() => lock.release())
  }
  const database = await openDatabase(databaseOptions(config, log))
  stack.defer(() => database.close())
  return database
}

/** Like `openConfigured`, but creates no embedded database. */
export async function openExisting(config: Config, log: Log, stack: AsyncDisposableStack): Promise<Database> {
  const { database, dataDir } = config
  if (database.kind === 'embedded' && !existsSync(join(dataDir, DATABASE_FOLDER))) {
    throw new Error(
      `there is no embedded database in ${dataDir}: name the data directory of the server with --data-dir`,
    )
  }
  return await openConfigured(config, log, stack)
}

/** @throws {Error} that says what to do, if no server has set up the instance. */
export async function assertSetUp(database: Database): Promise<void> {
  if (await createInstanceInitializer(database).isInitialised()) return
  throw new Error('the instance has not been set up: "keyturn serve" does that when it starts')
}

/** Where the configured database is. */
export function databaseOptions(config: Config, log: Log): DatabaseOptions {
  const { database, dataDir, databaseMaxConnections: maxConnections, changeFeed } = config
  switch (database.kind) {
    case 'postgres':
      return { kind: 'postgres', url: database.url, log, maxConnections, changeFeed }
    case 'embedded':
      return { kind: 'embedded', folder: join(dataDir, DATABASE_FOLDER), log }
    case 'memory':
      return { kind: 'embedded', folder: null, log }
  }
}
