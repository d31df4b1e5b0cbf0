/**
 * What a replica would fill an empty instance with.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { newKeyPair } from './keys.ts'

/** What a first start stores; other content at every call. */
export function newInstanceContent() {
  const administrator = {
    userId: randomUUID(),
    projectId: randomUUID(),
    projectName: 'keyturn',
    secretId: randomUUID(),
    secretHash: new Uint8Array(randomBytes(32)),
  }
  return { administrator, firstKey: newKeyPair(), issuer: 'https://id.example.com' }
}
