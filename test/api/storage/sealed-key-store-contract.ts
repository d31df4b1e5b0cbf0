/**
 * The part of the contract about `SealedKeyStore`.
 */
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createKeyPairGenerator } from '../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../src/crypto/sealed-key.ts'
import type { SealedKeyPair } from '../../../src/domain/keys/key-ring.ts'
import { planRevocation } from '../../../src/domain/keys/revocation.ts'
import { createInstanceInitializer } from '../../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { newInstanceContent } from '../../support/instance-content.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { findSecrets, secretKey, secretText } from '../../support/secret-search.ts'

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

    describePrivateKeysLeft(current)
  })
}

/** What is left of private keys in live rows, whichever table they are in. */
function describePrivateKeysLeft(current: () => Database): void {
  it('of keys that were deleted, destroyed or revoked nothing private is left in any row', async () => {
    const sealer = createKeySealer(parseMasterKeys(generateMasterKey()))
    const generator = createKeyPairGenerator(sealer)
    const keys = keyOperations(current())
    const store = createKeyStore(current(), TEST_MACS)
    const pairs = new Map<string, SealedKeyPair>()
    const create = async () => {
      const pair = await generator.generate({ kind: 'ed25519' })
      pairs.set(pair.keyId, pair)
      return (await keys.create(pair)).keyId
    }
    const [deleted, destroyed, active] = [await create(), await create(), await create()]
    const [inactive, initial] = [await create(), await create()]
    const [revokedInitial, revokedInactive, revokedActive] = [await create(), await create(), await create()]
    const revoke = (keyId: string) =>
      store.update(anEntry('revoke'), (ring, now) => {
        return planRevocation(ring, keyId, { now, jwksMaxAgeSeconds: 0, replacement: undefined })!
      })
    for (const keyId of [deleted, destroyed, inactive, revokedInactive, revokedActive]) await keys.activate(keyId)
    await keys.remove(deleted)
    await store.update(anEntry('destroy'), () => ({ steps: [{ kind: 'destroy', keyId: destroyed }], result: null }))
    await keys.activate(active)
    for (const keyId of [revokedInitial, revokedInactive]) await revoke(keyId)
    await keys.activate(revokedActive)
    await revoke(revokedActive)

    const rows = await everyRow(current())
    const opened: string[] = []
    for (const pair of pairs.values()) {
      const secret = secretText(pair.keyId, pair.sealedPrivateKey.split('.')[3]!)
      if (findSecrets(rows, [secret]).length === 0) continue
      await sealer.open(pair.sealedPrivateKey, pair)
      opened.push(pair.keyId)
    }
    expect(opened.sort()).toEqual([active, inactive, initial].sort())
    // No text that could be another sealed key is there either.
    expect(rows.toString().match(/[\w-]+(\.[\w-]+){4}/g)).toHaveLength(3)
    const privateKeys = [...pairs.values()].map(async (pair) =>
      secretKey(pair.keyId, await sealer.open(pair.sealedPrivateKey, pair)),
    )
    expect(findSecrets(rows, await Promise.all(privateKeys))).toEqual([])
  })
}

/** Every row of every table, as text. */
async function everyRow({ db }: Database): Promise<Buffer> {
  const tables = await sql<{ name: string }>`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`.execute(db)
  const lines: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await sql<{ line: string }>`select t::text as line from ${sql.raw(name)} t`.execute(db)
    lines.push(...rows.map(({ line }) => line))
  }
  return Buffer.from(lines.join('\n'))
}
