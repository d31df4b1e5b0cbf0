/**
 * Brings the schema of the database up to date, as a command of its own.
 */
import type { Config } from '../config/config.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { migrate } from '../storage/migrations/migrate.ts'
import { withCleanup } from './cleanup-stack.ts'
import { openConfigured } from './database.ts'

/**
 * Brings the schema of the configured database up to date.
 *
 * @returns The names of the migrations that were applied.
 */
export async function migrateDatabase(config: Config, log: Log, signal: AbortSignal): Promise<readonly string[]> {
  return await withCleanup(async (stack) => await migrate(await openConfigured(config, log, { stack, signal })))
}
