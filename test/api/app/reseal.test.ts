import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { resealAll } from '../../../src/app/keys/reseal.ts'
import { createKeyPairGenerator } from '../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeyResealer, createKeySealer } from '../../../src/crypto/sealed-key.ts'
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
})
