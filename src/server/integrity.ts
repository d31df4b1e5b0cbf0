/**
 * Opens the integrity key of the instance with the master keys.
 */
import { openIntegrity } from '../crypto/integrity-key.ts'
import type { MasterKeys } from '../crypto/master-keys.ts'
import type { Integrity } from '../domain/integrity.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import type { Database } from '../storage/postgres/database.ts'

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
