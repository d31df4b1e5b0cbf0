/**
 * Which private keys an attacker finds who has a dump of the memory of a server: the one that signs, and no other.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { EcdsaCurve, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import type { CreateWebKeyRequestSchema } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { generateMasterKey, parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../src/crypto/sealed-key.ts'
import { parseKeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import { type Administration, administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { collectGarbage, INSPECTABLE } from '../support/held-memory.ts'
import { type KeyturnProcess, removeFolder, removeServers, requestToken, startKeyturn } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import type { Secret } from '../support/secret-search.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { findInMemory, keyInMemory } from './process-memory.ts'

const onLinux = itUnless(NOT_LINUX)
const masterKey = generateMasterKey()
const KINDS: MessageInitShape<typeof CreateWebKeyRequestSchema>['config'][] = [
  { config: { case: 'rsa', value: {} } },
  { config: { case: 'ecdsa', value: { curve: EcdsaCurve.P256 } } },
  { config: { case: 'ed25519', value: {} } },
]

let postgres: TestPostgres
let url: string
let env: Record<string, string>
let server: KeyturnProcess
let administration: Administration
let admin: Awaited<ReturnType<KeyturnProcess['admin']>>

beforeAll(async () => {
  postgres = sharedPostgres()
  url = await postgres.createMigratedDatabase()
  env = {
    KEYTURN_DATABASE_URL: url,
    KEYTURN_MASTER_KEYS: masterKey,
    KEYTURN_BASE_URL: 'http://localhost:1',
    KEYTURN_ACTIVATION_GUARD: 'off',
    // So that a rotation that is asked for does not become due while the tests run, on a slow machine either.
    KEYTURN_JWKS_MAX_AGE: '3600',
  }
  // Another process makes keys of each kind and state, so that the one that is looked at has made none of them.
  const maker = await startKeyturn({ env })
  await postgres.query(`update rotation set policy = jsonb_set(policy::jsonb, '{enabled}', 'false')`, [], url)
  try {
    admin = { ...(await maker.admin()), token_endpoint: `${maker.listenUrl}/oauth/v2/token` }
    const { keys } = administrationWith(maker, await requestToken(admin))
    for (const config of KINDS) {
      const { webKey } = await keys.createWebKey({ config })
      await keys.activateWebKey({ keyId: webKey!.keyId })
      await keys.createWebKey({ config })
    }
  } finally {
    await maker.stop()
    await removeFolder(maker.dataDir)
  }

  server = await startKeyturn({ env: { ...env, ...INSPECTABLE } })
  admin = { ...admin, token_endpoint: `${server.listenUrl}/oauth/v2/token` }
  administration = administrationWith(server, await requestToken(admin))
})
afterAll(async () => {
  await removeServers(server)
  await postgres?.stop()
})

/** Those that the database has or has had, by the ids of their web keys. */
const known = new Map<string, Secret>()

async function privateKeys(): Promise<readonly Secret[]> {
  const rows = await postgres.query<{ key_id: string; algorithm: string; sealed_private_key: string }>(
    'select key_id, algorithm, sealed_private_key from web_keys where sealed_private_key is not null',
    [],
    url,
  )
  const sealer = createKeySealer(parseMasterKeys(masterKey))
  for (const { key_id: keyId, algorithm, sealed_private_key: sealed } of rows) {
    if (known.has(keyId)) continue
    const key = await sealer.open(sealed, { keyId, algorithm: parseKeyAlgorithm(algorithm) })
    known.set(keyId, keyInMemory(keyId, key))
  }
  return [...known.values()]
}

const found = async () => findInMemory(server.process.pid!, await privateKeys())
const signer = async () => decodeProtectedHeader(await requestToken(admin)).kid!

/** Waits until the active key is the only one: what was dropped is wiped when it is collected. */
async function foundAfterCollection(): Promise<string[]> {
  const active = await signer()
  await eventually(async () => {
    await collectGarbage(server)
    expect(await found()).toEqual([active])
  })
  return await found()
}

onLinux('has the active private key in memory after the start, and none of the others', async () => {
  expect((await privateKeys()).length).toBeGreaterThanOrEqual(7)
  expect(await found()).toEqual([await signer()])
})

onLinux('has it alone after 300 tokens', async () => {
  for (let count = 0; count < 300; count += 1) await requestToken(admin)
  expect(await found()).toEqual([await signer()])
})

onLinux('has none that it has made and sealed, once that is done', async () => {
  const [active, { length }] = [await signer(), await privateKeys()]
  for (const config of KINDS) await administration.keys.createWebKey({ config })
  expect(await privateKeys()).toHaveLength(length + KINDS.length)
  expect(await foundAfterCollection()).toEqual([active])
})

onLinux('opens none to see which one could sign when a rotation is asked for', async () => {
  const { done } = await administration.keys.rotateWebKey({})
  expect(done).toBe(false)
  expect(await foundAfterCollection()).toEqual([await signer()])
})

for (const method of ['activateWebKey', 'revokeWebKey'] as const) {
  onLinux(
    `opens the next key alone when ${method} makes it sign, and has the one before no more when it was collected`,
    async () => {
      const [before, others] = [await signer(), await privateKeys()]
      const { keys } = administration
      const { webKeys } = await keys.listWebKeys({})
      const initial = webKeys.find(({ state, algorithm }) => state === WebKeyState.INITIAL && algorithm !== 'RS256')
      if (method === 'activateWebKey') await keys.activateWebKey({ keyId: initial!.keyId })
      else await keys.revokeWebKey({ keyId: before })
      const next = await signer()
      expect(next).not.toBe(before)
      // The one before may be there still; those that were never opened here are not.
      const open = findInMemory(server.process.pid!, others)
      expect(open.filter((keyId) => keyId !== before)).toEqual([next])
      expect(await foundAfterCollection()).toEqual([next])
    },
  )
}
