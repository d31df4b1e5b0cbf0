/**
 * Opens the integrity key of the instance with the master keys, when the schema is brought up to date and when a process starts.
 */
import { generateTakeOver, openIntegrity } from '../crypto/integrity-key.ts'
import type { MasterKeys } from '../crypto/master-keys.ts'
import type { Integrity } from '../domain/integrity.ts'
import type { Log } from '../domain/ports/runtime.ts'
import type { MasterKeySource } from '../secret-files/master-key-source.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import type { Database } from '../storage/postgres/database.ts'
import { migrate, needsTakeOver } from '../storage/schema/migrate.ts'
import type { TakenOver } from '../storage/schema/take-over.ts'

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

/** Opens the integrity key of an instance that is set up. @throws {Error} that says what to do. */
export async function loadIntegrity(database: Database, masterKeys: MasterKeys): Promise<Integrity> {
  const sealed = await createSealedKeyStore(database).integrityKey()
  if (sealed === null)
    throw new Error('the integrity key of the instance is missing: restore the database from a backup')
  try {
    return await openIntegrity(sealed, masterKeys)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const advice = 'KEYTURN_MASTER_KEYS must have the one that sealed it; in an embedded setup, restore master.key'
    throw new Error(`${reason} (${advice})`, { cause })
  }
}
