/**
 * The part of the contract about `SealedKeyStore`.
 */
import { describe, expect, it } from '@jest/globals'
import type { Database } from '../../src/storage/database.ts'
import { createInstanceReader } from '../../src/storage/instance-reader.ts'
import { createKeyStore } from '../../src/storage/key-store.ts'
import { createSealedKeyStore } from '../../src/storage/sealed-key-store.ts'
import { anEntry } from '../support/audit-entry.ts'
import { keyOperations } from '../support/key-operations.ts'

export function describeSealedKeyStore(current: () => Database): void {
  const store = () => createSealedKeyStore(current())
  const version = async () => (await createInstanceReader(current()).status()).version
  const events = () => current().db.selectFrom('audit_events').select(['action', 'resource']).execute()

  describe('the sealed private keys', () => {
    it('are listed oldest first, without those that were destroyed', async () => {
      const keys = keyOperations(current())
      const [first, second, third] = [await keys.create(), await keys.create(), await keys.create()]
      await keys.activate(first.keyId)
      await keys.activate(second.keyId)
      await createKeyStore(current()).update(anEntry('reseal'), () => ({
        steps: [{ kind: 'destroy', keyId: first.keyId }],
        result: undefined,
      }))
      const listed = await store().list()
      expect(listed.map(({ keyId }) => keyId).sort()).toEqual([second.keyId, third.keyId].sort())
      expect(listed).toContainEqual({
        keyId: second.keyId,
        algorithm: second.algorithm,
        sealedPrivateKey: `sealed.${second.keyId}`,
      })
    })

    it('are replaced one by one, as an audited change of the instance', async () => {
      const keys = keyOperations(current())
      const [one, other] = [await keys.create(), await keys.create()]
      const [before, entry] = [await version(), anEntry('reseal')]
      const key = (await store().list()).find(({ keyId }) => keyId === one.keyId)!
      expect(await store().replace(key, 'sealed anew', entry)).toBe(true)

      const after = new Map((await store().list()).map((sealed) => [sealed.keyId, sealed.sealedPrivateKey]))
      expect(after).toEqual(
        new Map([
          [one.keyId, 'sealed anew'],
          [other.keyId, `sealed.${other.keyId}`],
        ]),
      )
      expect(await version()).toBe(before + 1)
      expect(await events()).toContainEqual({ action: entry.action, resource: entry.resource })
    })

    it('are left alone if they are not what they were any more, or are gone', async () => {
      const keys = keyOperations(current())
      const created = await keys.create()
      const [key] = await store().list()
      expect(await store().replace(key!, 'sealed by another', anEntry('reseal'))).toBe(true)
      const before = await version()
      expect(await store().replace(key!, 'sealed too late', anEntry('reseal'))).toBe(false)
      expect(await store().replace({ ...key!, keyId: 'gone' }, 'sealed for nobody', anEntry('reseal'))).toBe(false)
      expect(await store().list()).toEqual([{ ...key, sealedPrivateKey: 'sealed by another' }])
      expect(await version()).toBe(before)
      expect(created.keyId).toBe(key!.keyId)
    })
  })
}
