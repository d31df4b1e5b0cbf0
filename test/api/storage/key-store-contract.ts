/**
 * The part of the contract about `KeyStore.update`.
 */

import { describe, expect, it } from '@jest/globals'
import { type KeyRing, planCreation } from '../../../src/domain/keys/key-ring.ts'
import { planRevocation } from '../../../src/domain/keys/revocation.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../src/domain/keys/rotation-policy.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'

export function describeKeyStore(current: () => Database): void {
  const version = async () => (await createInstanceReader(current(), TEST_MACS).status()).version

  describe('updating the key ring', () => {
    it('destroys the private key of an inactive key and keeps the key', async () => {
      const store = createKeyStore(current(), TEST_MACS)
      const keys = keyOperations(current())
      const [created, other] = [await keys.create(), await keys.create()]
      await keys.activate(created.keyId)
      await keys.activate(other.keyId)
      await store.update(anEntry('destroy'), () => ({
        steps: [{ kind: 'destroy', keyId: created.keyId }],
        result: undefined,
      }))
      expect(await ringOf(keys)).toContainEqual(
        expect.objectContaining({ keyId: created.keyId, state: 'inactive', hasPrivateKey: false }),
      )
      const rows = await current().db.selectFrom('web_keys').select(['key_id', 'sealed_private_key']).execute()
      expect(rows.filter((row) => row.sealed_private_key === null).map((row) => row.key_id)).toEqual([created.keyId])
      await expect(keys.activate(created.keyId)).rejects.toMatchObject({ code: 'web_key_private_key_destroyed' })
    })

    it('keeps a record of a revoked key, apart and without its private key', async () => {
      const store = createKeyStore(current(), TEST_MACS)
      const keys = keyOperations(current())
      const [leaked, standby] = [await keys.create(), await keys.create()]
      const { key: active } = await keys.activate(leaked.keyId)
      const { key } = await store.update(
        anEntry('revoke'),
        (ring, now) => planRevocation(ring, leaked.keyId, { now, jwksMaxAgeSeconds: 300, replacement: undefined })!,
      )
      const record = { ...active, state: 'revoked', deactivatedAt: null, revokedAt: expect.any(Date) }
      expect(key).toEqual(record)
      expect(await store.listRevoked()).toEqual([record])
      expect(await ringOf(keys)).toEqual([expect.objectContaining({ keyId: standby.keyId, state: 'active' })])
    })

    it('keeps the rotation that a decision returns, and shows it to the next one', async () => {
      const store = createKeyStore(current(), TEST_MACS)
      const policy = {
        ...DEFAULT_ROTATION_POLICY,
        config: { kind: 'ecdsa', curve: 'P-384' } as const,
        keepStandby: false,
      }
      const rotation = { policy, requestedAt: new Date('2030-01-01T00:00:00.123Z') }
      await store.update(anEntry('policy'), () => ({ steps: [], rotation, result: undefined }))
      const look = await store.update(anEntry('look'), (_ring, _now, found) => ({ steps: [], result: found }))
      expect(look).toEqual(rotation)
      expect(await version()).toBe(1)
    })

    it('stores nothing when a step fails', async () => {
      const store = createKeyStore(current(), TEST_MACS)
      const keys = keyOperations(current())
      const pair = newKeyPair()
      const impossible = store.update(anEntry('create'), (ring, now) => ({
        steps: [...planCreation(ring, pair, { now, maxWebKeys: 50 }).steps, { kind: 'remove', keyId: 'nobody' }],
        result: undefined,
      }))
      await expect(impossible).rejects.toThrow('changed 0 web keys instead of one')
      expect(await ringOf(keys)).toEqual([])
      expect(await version()).toBe(0)
    })

    it('writes an audit event for each change, at its time, and none when nothing changes', async () => {
      const keys = keyOperations(current())
      const created = await keys.create()
      const { key } = await keys.activate(created.keyId)
      await keys.activate(created.keyId)
      await keys.look()
      await keys.remove(created.keyId).catch(() => {})
      const written = await current().db.selectFrom('audit_events').selectAll().execute()
      const empty = { client_address: '', omitted_count: null, omitted_since: null, reason: '' }
      const place = { epoch: 0, transaction_id: expect.any(String), sequence: expect.any(String) }
      const origin = { actor: 'tester', resource: '', request_id: 'request-1' }
      const common = { event_id: expect.any(String), ...origin, ...empty, ...place }
      expect(written.toSorted((a, b) => b.action.localeCompare(a.action))).toEqual([
        { ...common, event_date: created.createdAt, action: 'create', outcome: 'ok' },
        { ...common, event_date: key.activatedAt, action: 'activate', outcome: 'ok' },
      ])
    })

    it('lets updates of one process take turns', async () => {
      const keys = keyOperations(current())
      const created = await Promise.all(Array.from({ length: 20 }, () => keys.create()))
      await Promise.all(created.map(({ keyId }) => keys.activate(keyId)))
      const ring = await ringOf(keys)
      expect(ring.map(({ state }) => state).toSorted()).toEqual(['active', ...Array(19).fill('inactive')])
      expect(await version()).toBe(40)
    })
  })
}

async function ringOf(keys: ReturnType<typeof keyOperations>): Promise<KeyRing> {
  return (await keys.look()).ring
}
