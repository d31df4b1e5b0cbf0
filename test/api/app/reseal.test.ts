import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { resealAll } from '../../../src/app/keys/reseal.ts'
import { createKeyPairGenerator } from '../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeyResealer, createKeySealer } from '../../../src/crypto/sealed-key.ts'
import { createWebhookSigner } from '../../../src/crypto/webhook-signer.ts'
import { planCreation } from '../../../src/domain/keys/key-ring.ts'
import type { SealedKeyStore } from '../../../src/domain/keys/sealed-keys.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { createRecordingLog } from '../../support/log.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'

const [older, newer] = [generateMasterKey(), generateMasterKey()]
const idOf = (masterKey: string) => masterKey.split(':')[0]!
const resealer = createKeyResealer(parseMasterKeys(`${newer},${older}`))

let database: Database
let store: SealedKeyStore
beforeAll(async () => {
  database = openDatabase({ url: await newPostgresDatabase(), log: createRecordingLog() })
  await migrate(database)
  store = createSealedKeyStore(database)
})
beforeEach(async () => {
  await database.db.deleteFrom('web_keys').execute()
  await database.db.deleteFrom('webhooks').execute()
})
afterAll(() => database?.close())

/** Creates a web key as a server with these master keys does. */
async function create(masterKeys = older): Promise<string> {
  const generator = createKeyPairGenerator(createKeySealer(parseMasterKeys(masterKeys)))
  const pair = await generator.generate({ kind: 'ed25519' })
  await createKeyStore(database, TEST_MACS).update(anEntry('create'), (ring, now) =>
    planCreation(ring, pair, { now, maxWebKeys: 1000 }),
  )
  return pair.keyId
}

/** Fails if one of the private keys cannot be opened with this master key alone. */
async function openAll(masterKey: string): Promise<number> {
  const keys = await store.list()
  const alone = createKeyResealer(parseMasterKeys(masterKey))
  for (const key of keys) await alone.assertOpens(key)
  return keys.length
}

describe('sealing all private keys anew', () => {
  it('finds the keys that a server seals with another master key meanwhile, and tells of it', async () => {
    await create()
    let late = 3
    const busy: SealedKeyStore = {
      ...store,
      replace: async (...change) => {
        if (late-- > 0) await create()
        return await store.replace(...change)
      },
    }
    expect(await resealAll({ store: busy, resealer })).toMatchObject({
      total: 4,
      resealed: 4,
      stillInUse: [idOf(older)],
    })
    expect(await openAll(newer)).toBe(4)
  })

  it('counts both secrets of a webhook, and finds one that a server seals with another master key meanwhile', async () => {
    const webhookId = randomUUID()
    const signer = createWebhookSigner(parseMasterKeys(older))
    const newSecret = async () => (await signer.generateSecret(webhookId)).sealed
    const [current, previous] = [await newSecret(), await newSecret()]
    const row = {
      webhook_id: webhookId,
      name: 'siem',
      url: 'https://siem.example',
      event_types: [],
      resources: [],
      sealed_secret: current,
      previous_sealed_secret: previous,
      previous_expiration_date: new Date('2100-01-01'),
      creation_date: new Date(),
    }
    await database.db.insertInto('webhooks').values(row).execute()
    const secrets = database.db.updateTable('webhooks').where('webhook_id', '=', webhookId)
    let isRotated = false
    const busy: SealedKeyStore = {
      ...store,
      replace: async (key, ...rest) => {
        const isReplaced = await store.replace(key, ...rest)
        if (!isRotated && key.sealed === current) {
          isRotated = true
          await secrets.set({ sealed_secret: await newSecret(), previous_sealed_secret: rest[0] }).execute()
        }
        return isReplaced
      },
    }
    // The secret before the last one is gone when its turn comes.
    expect(await resealAll({ store: busy, resealer })).toMatchObject({
      total: 2,
      resealed: 2,
      stillInUse: [idOf(older)],
    })
    await secrets.set({ sealed_secret: await newSecret(), previous_sealed_secret: await newSecret() }).execute()
    expect(await resealAll({ store, resealer })).toMatchObject({ total: 2, resealed: 2, stillInUse: [] })
    expect(await openAll(newer)).toBe(2)
  })

  it('gives up on servers that never stop sealing with another one, and names it', async () => {
    await create()
    const busy: SealedKeyStore = {
      ...store,
      replace: async (...change) => {
        await create()
        return await store.replace(...change)
      },
    }
    await expect(resealAll({ store: busy, resealer })).rejects.toThrow(
      `servers go on sealing new keys with ${idOf(older)}: restart them with ${idOf(newer)} as the first master key`,
    )
  })

  it('changes nothing if one of several private keys cannot be opened, also the last one', async () => {
    for (const masterKey of [older, older, generateMasterKey()]) await create(masterKey)
    const before = await store.list()
    await expect(resealAll({ store, resealer })).rejects.toThrow(/web key \S{43} cannot be opened/)
    expect(await store.list()).toEqual(before)
  })

  it.each([
    ['is not configured', newer],
    ['has the id of the right one', `${newer},${idOf(older)}:${generateMasterKey().split(':')[1]}`],
    ['is first and has the id of the one that sealed', `${idOf(older)}:${generateMasterKey().split(':')[1]}`],
  ])('changes nothing if the key that sealed %s', async (_, masterKeys) => {
    for (let count = 0; count < 3; count += 1) await create()
    const before = await store.list()
    const wrong = createKeyResealer(parseMasterKeys(masterKeys))
    await expect(resealAll({ store, resealer: wrong })).rejects.toThrow(/web key \S{43} cannot be opened/)
    expect(await store.list()).toEqual(before)
  })
})
