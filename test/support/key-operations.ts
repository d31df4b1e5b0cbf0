/**
 * What the use cases do with web keys, without them: the domain's plans run on the real store.
 */
import { type KeyRing, planActivation, planCreation, planDeletion } from '../../src/domain/keys/key-ring.ts'
import type { KeyChange } from '../../src/domain/ports/keys.ts'
import { createKeyStore } from '../../src/storage/keys/key-store.ts'
import type { Database } from '../../src/storage/postgres/database.ts'
import { anEntry } from './audit-entry.ts'
import { TEST_MACS } from './integrity.ts'
import { newKeyPair } from './keys.ts'

const rules = { guard: 'off', jwksMaxAgeSeconds: 300 } as const

/** Operations on the web keys of a database. */
export function keyOperations(database: Database) {
  const store = createKeyStore(database, TEST_MACS)
  const change = <T>(action: string, decide: (ring: KeyRing, now: Date) => KeyChange<T>): Promise<T> =>
    store.update(anEntry(action), decide)
  return {
    create: (pair = newKeyPair()) => change('create', (ring, now) => planCreation(ring, pair, { now, maxWebKeys: 50 })),
    activate: (keyId: string) => change('activate', (ring, now) => planActivation(ring, keyId, { ...rules, now })),
    remove: (keyId: string) => change('remove', (ring, now) => planDeletion(ring, keyId, { now })),
    look: () => change('look', (ring, now) => ({ steps: [], result: { ring, now } })),
  }
}
