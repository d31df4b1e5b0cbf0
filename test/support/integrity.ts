/**
 * An integrity key for tests of the stores without a server.
 */
import { createIntegrity, deriveKeys } from '../../src/crypto/integrity-key.ts'
import type { Integrity } from '../../src/domain/integrity.ts'

/** What is good for the rows of tests without a server: the same in all processes. */
export const TEST_INTEGRITY: Integrity = createIntegrity(deriveKeys(Buffer.alloc(32, 'integrity')))

/** The codes of public keys in the rows of these tests. */
export const TEST_MACS = TEST_INTEGRITY.publicKeys
