/**
 * Integrity keys for tests: one for the stores without a server, and that of a server, to write rows that it believes.
 */
import { createSecretHash } from '../../src/crypto/client-secret.ts'
import { createIntegrity, type DerivedKeys, deriveKeys, withIntegrityKey } from '../../src/crypto/integrity-key.ts'
import { parseMasterKeys } from '../../src/crypto/master-keys.ts'
import type { Integrity } from '../../src/domain/integrity.ts'
import { createSealedKeyStore } from '../../src/storage/keys/sealed-key-store.ts'
import type { Database } from '../../src/storage/postgres/database.ts'

/** What an integrity key is good for, and the hash of a client secret from its SHA-256. */
export interface TestIntegrity extends Integrity {
  readonly clientSecretHash: (sha256: Uint8Array) => Uint8Array
}

/** What is good for the rows of tests without a server: the same in all processes. */
export const TEST_INTEGRITY: TestIntegrity = integrityWith(deriveKeys(Buffer.alloc(32, 'integrity')))

/** The codes of public keys in the rows of these tests. */
export const TEST_MACS = TEST_INTEGRITY.publicKeys

/** What the servers with these master keys use on this database. */
export async function integrityOf(database: Database, masterKeys: string): Promise<TestIntegrity> {
  const sealed = await createSealedKeyStore(database).integrityKey()
  return integrityWith(await withIntegrityKey(sealed!, parseMasterKeys(masterKeys), deriveKeys))
}

function integrityWith(keys: DerivedKeys): TestIntegrity {
  return { ...createIntegrity(keys), clientSecretHash: createSecretHash(keys.clientSecrets) }
}
