/**
 * The part of the contract about `InstanceReader`.
 */
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { activeKey } from '../../../src/domain/keys/key-ring.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'

export function describeInstanceReader(current: () => Database): void {
  const reader = () => createInstanceReader(current(), TEST_MACS)

  describe('reading the instance', () => {
    it('gives the private key of the active web key and no other', async () => {
      const keys = keyOperations(current())
      const [first, second] = [newKeyPair(), newKeyPair()]
      await keys.create(first)
      await keys.create(second)
      expect((await reader().load()).sealedActiveKey).toBeNull()
      await keys.activate(first.keyId)
      expect((await reader().load()).sealedActiveKey).toBe(first.sealedPrivateKey)
      await keys.activate(second.keyId)
      expect((await reader().load()).sealedActiveKey).toBe(second.sealedPrivateKey)
    })

    it('reads version, ring, active key and users in one snapshot while they change', async () => {
      const keys = keyOperations(current())
      const pairs = [newKeyPair(), newKeyPair()]
      for (const pair of pairs) await keys.create(pair)
      const start = (await reader().status()).version

      const swap = async () => {
        for (let count = 0; count < 40; count += 1) await keys.activate(pairs[count % 2]!.keyId)
      }
      const look = async () => {
        for (let count = 0; count < 40; count += 1) {
          const { version, ring, sealedActiveKey } = await reader().load()
          const expected = version === start ? undefined : pairs[(version - start - 1) % 2]
          expect(activeKey(ring)?.keyId).toBe(expected?.keyId)
          expect(sealedActiveKey).toBe(expected?.sealedPrivateKey ?? null)
        }
      }
      await Promise.all([swap(), look()])
    })

    it('refuses a rotation policy that wants keys of no known kind', async () => {
      for (const [config, why] of [
        ['{"kind":"ecdsa","curve":"P-192"}', 'no algorithm for {"kind":"ecdsa","curve":"P-192"}'],
        ['{"kind":"rsa","bits":512,"hasher":"sha256"}', 'no RSA keys of 512 bits'],
      ]) {
        await sql`update rotation set policy = ${`{"config":${config}}`}`.execute(current().db)
        const message = `the rotation policy in the database is not valid: ${why}`
        await expect(reader().load()).rejects.toMatchObject({
          name: 'UnreadableRow',
          kind: 'rotation',
          id: '',
          message,
        })
      }
    })
  })
}
