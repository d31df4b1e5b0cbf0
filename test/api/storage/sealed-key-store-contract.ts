/**
 * The part of the contract about `SealedKeyStore`.
 */
import { describe, expect, it } from '@jest/globals'
import { createInstanceInitializer } from '../../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { newInstanceContent } from '../../support/instance-content.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'

export function describeSealedKeyStore(current: () => Database): void {
  const store = () => createSealedKeyStore(current())
  const webKeys = async () => (await store().list()).filter((key) => key.kind === 'web_key')
  const version = async () => (await createInstanceReader(current(), TEST_MACS).status()).version
  const events = () => current().db.selectFrom('audit_events').select(['action', 'resource']).execute()

  describe('the sealed private keys', () => {
    it('are replaced one by one, as an audited change of the instance', async () => {
      const keys = keyOperations(current())
      const [one, other] = [await keys.create(), await keys.create()]
      const [before, entry] = [await version(), anEntry('reseal')]
      const [key] = await store().find([one.keyId])
      expect(await store().replace(key!, 'sealed anew', entry)).toBe(true)

      const after = new Map((await webKeys()).map(({ keyId, sealed }) => [keyId, sealed]))
      expect(after).toEqual(
        new Map([
          [one.keyId, 'sealed anew'],
          [other.keyId, `sealed.${other.keyId}`],
        ]),
      )
      expect(await version()).toBe(before + 1)
      expect(await events()).toContainEqual({ action: entry.action, resource: entry.resource })
    })

    it('are not replaced if they have changed since they were read, or are gone', async () => {
      const keys = keyOperations(current())
      const created = await keys.create()
      const [key] = await webKeys()
      expect(await store().replace(key!, 'sealed by another', anEntry('reseal'))).toBe(true)
      const before = await version()
      expect(await store().replace(key!, 'sealed too late', anEntry('reseal'))).toBe(false)
      expect(await store().replace({ ...key!, keyId: 'gone' }, 'sealed for nobody', anEntry('reseal'))).toBe(false)
      expect(await store().list()).toEqual([{ ...key, sealed: 'sealed by another' }])
      expect(await version()).toBe(before)
      expect(created.keyId).toBe(key!.keyId)
    })

    it('come with the integrity key of the instance, which is replaced like them', async () => {
      expect(await store().integrityKey()).toBeNull()
      await createInstanceInitializer(current()).initialise(newInstanceContent(), async () => {})
      const [key, ...others] = await store().list()
      expect(key).toEqual({ kind: 'integrity_key', sealed: 'sealed.integrity' })
      expect(others).toHaveLength(1)
      expect(await store().replace(key!, 'sealed anew', anEntry('reseal'))).toBe(true)
      expect(await store().replace(key!, 'sealed too late', anEntry('reseal'))).toBe(false)
      expect(await store().integrityKey()).toBe('sealed anew')
    })
  })
}
