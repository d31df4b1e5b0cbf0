/**
 * Brings the schema of the database up to date: before anything else is done with it, or as a command of its own.
 */
import type { Config } from '../config/config.ts'
import { generateTakeOver } from '../crypto/integrity-key.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { type MasterKeySource, masterKeySource } from '../secret-files/master-key-source.ts'
import type { Database } from '../storage/postgres/database.ts'
import { migrate, needsTakeOver } from '../storage/schema/migrate.ts'
import type { TakenOver } from '../storage/schema/take-over.ts'
import { withCleanup } from './cleanup-stack.ts'
import { openConfigured } from './database.ts'

/**
 * Brings the schema of the configured database up to date.
 *
 * @param signal Ends the command for the master keys.
 * @returns The names of the migrations that were applied.
 */
export async function migrateDatabase(config: Config, log: Log, signal: AbortSignal): Promise<readonly string[]> {
  return await withCleanup(async (stack) => {
    const source = masterKeySource(config, log)
    return await bringUpToDate(await openConfigured(config, log, { stack, signal }), { source, log, signal })
  })
}

/** What an upgrade needs. */
export interface UpgradeOptions {
  /** Read only if there is an instance without an integrity key. */
  readonly source: MasterKeySource
  readonly log: Log
  readonly signal?: AbortSignal | undefined
}

/**
 * Brings the schema up to date, and generates the integrity key of an instance that has none.
 *
 * @returns The names of the applied migrations.
 * @throws what `migrate` throws; {Error} that says what to do, if the master keys cannot be read.
 */
export async function bringUpToDate(
  database: Database,
  { source, log, signal }: UpgradeOptions,
): Promise<readonly string[]> {
  if (!(await needsTakeOver(database))) return await migrate(database)
  const masterKeys = await source.load({ mayGenerate: false, ...(signal === undefined ? {} : { signal }) })
  let taken: TakenOver | undefined
  const applied = await migrate(database, {
    takeOver: await generateTakeOver(masterKeys),
    onTakenOver: (what) => {
      taken = what
    },
  })
  if (taken !== undefined && applied.length > 0) {
    log.warn(
      taken,
      'the instance of an older version was given an integrity key: all that it had is believed from now on',
    )
  }
  return applied
}
