/**
 * What a replica would fill an empty instance with.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { TEST_MACS } from './integrity.ts'
import { newKeyPair } from './keys.ts'

/** What a first start stores; other content at every call. */
export function newInstanceContent() {
  const owner = {
    kind: 'administrator' as const,
    userId: randomUUID(),
    projectId: randomUUID(),
    projectName: 'keyturn',
    secretId: randomUUID(),
    secretHash: new Uint8Array(randomBytes(32)),
  }
  const integrity = { sealedIntegrityKey: 'sealed.integrity', publicKeys: TEST_MACS }
  return { owner, firstKey: newKeyPair(), integrity, issuer: 'https://id.example.com' }
}
