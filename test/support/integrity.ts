/**
 * Integrity keys for tests: one for the stores without a server, and that of a server, to write rows that it believes.
 */
import { createIntegrity, deriveKeys, openIntegrity } from '../../src/crypto/integrity-key.ts'
import { parseMasterKeys } from '../../src/crypto/master-keys.ts'
import type { Integrity } from '../../src/domain/integrity.ts'
import { createSealedKeyStore } from '../../src/storage/keys/sealed-key-store.ts'
import type { Database } from '../../src/storage/postgres/database.ts'

/** What is good for the rows of tests without a server: the same in all processes. */
export const TEST_INTEGRITY: Integrity = createIntegrity(deriveKeys(Buffer.alloc(32, 'integrity')))

/** The codes of public keys in the rows of these tests. */
export const TEST_MACS = TEST_INTEGRITY.publicKeys

/** What the servers with these master keys use on this database. */
export async function integrityOf(database: Database, masterKeys: string): Promise<Integrity> {
  const sealed = await createSealedKeyStore(database).integrityKey()
  return await openIntegrity(sealed!, parseMasterKeys(masterKeys))
}
