/**
 * What an activation costs and what it leaves in memory. The wire to the database counts the statements.
 */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { DecryptabilityCheck } from '../../../src/app/keys/decryptability-check.ts'
import { WebKeys } from '../../../src/app/keys/web-keys.ts'
import { Replica } from '../../../src/app/replica/replica.ts'
import type { Actor } from '../../../src/domain/identities/authority.ts'
import { WHOLE_INSTANCE } from '../../../src/domain/identities/reach.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'
import { seedProject, seedUser } from '../../support/seed.ts'
import { type StatementProxy, startStatementProxy } from '../../support/statement-proxy.ts'

/** What an activation costs at most: three statements that read the sealed key, and eleven of the change. */
const MAX_STATEMENTS = 14

let postgres: TestPostgres
let proxy: StatementProxy
/** Through the proxy. */
let database: Database
let other: Database
let replica: Replica
let webKeys: WebKeys
let actor: Actor
/** The key ids whose private keys were checked, and those that were opened to sign. */
let checked: string[]
let opened: string[]
let active: string
let standby: string
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  postgres = await startPostgres()
})
beforeEach(async () => {
  const url = await postgres.createMigratedDatabase()
  proxy = await startStatementProxy(Number(new URL(url).port))
  cleanups.unshift(() => proxy.close())
  database = await open(url.replace(/:\d+\//, `:${proxy.port}/`))
  other = await open(url)
  const { userId } = await seedUser(other, { project: await seedProject(other), instanceRoles: ['IAM_OWNER'] })
  const keys = keyOperations(other)
  const pairs = [newKeyPair(), newKeyPair()] as const
  for (const pair of pairs) await keys.create(pair)
  ;[active, standby] = [pairs[0].keyId, pairs[1].keyId]
  await keys.activate(active)

  ;[checked, opened] = [[], []]
  const log = createRecordingLog()
  const reader = createInstanceReader(database, TEST_MACS)
  replica = new Replica({
    reader,
    feed: { subscribe: () => async () => {}, status: () => 'off' },
    signers: {
      open: async (key) => {
        opened.push(key.keyId)
        return { key, sign: async (data) => data }
      },
    },
    // Nothing is compared in the background.
    clock: new ManualClock(),
    log,
    issuer: 'https://id.example.com',
    maxStalenessSeconds: 60,
  })
  await replica.start()
  cleanups.unshift(() => replica.stop())
  webKeys = new WebKeys({
    store: createKeyStore(database, TEST_MACS),
    reader,
    generator: { generate: async () => newKeyPair() },
    replica,
    decryptability: new DecryptabilityCheck({
      keys: createSealedKeyStore(database),
      check: { assertOpens: async ({ keyId }) => void checked.push(keyId) },
      log,
    }),
    log,
    activation: { guard: 'off', jwksMaxAgeSeconds: 0 },
    maxWebKeys: 50,
  })
  const credential = {
    kind: 'access_token',
    keyId: active,
    tokenId: 'jti',
    expiresAt: new Date(Date.now() + 3_600_000),
  } as const
  const authority = {
    kind: 'user',
    userId,
    permission: 'iam.web_key.write',
    reach: WHOLE_INSTANCE,
    credential,
  } as const
  actor = { actor: userId, action: 'test', requestId: 'request-1', authority }
  opened.length = 0
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})
afterAll(() => postgres?.stop())

async function open(address: string): Promise<Database> {
  const connected = openDatabase({ url: address, log: createRecordingLog() })
  cleanups.unshift(() => connected.close())
  return connected
}

/** The statements of a call, in order. */
async function statementsOf(call: () => Promise<unknown>): Promise<readonly string[]> {
  const before = proxy.statements.length
  await call()
  return proxy.statements.slice(before)
}

const transactionsIn = (statements: readonly string[]) =>
  statements.filter((text) => /^(begin|start transaction)/.test(text))

const served = () => {
  const { ring, signer } = replica.keys()
  return { states: Object.fromEntries(ring.map(({ keyId, state }) => [keyId, state])), signer: signer?.key.keyId }
}

describe('an activation', () => {
  it('reads the sealed key, then makes one transaction that reads the ring once, and is served when it returns', async () => {
    // The first use of a connection may cost more.
    await webKeys.list()
    const statements = await statementsOf(() => webKeys.activate(actor, standby))
    expect(transactionsIn(statements)).toHaveLength(2)
    expect(statements.filter((text) => text.includes('sealed_private_key is not null'))).toHaveLength(1)
    expect(statements.length).toBeLessThanOrEqual(MAX_STATEMENTS)
    expect(checked).toEqual([standby])
    expect(opened).toEqual([standby])
    expect(served()).toEqual({ states: { [active]: 'inactive', [standby]: 'active' }, signer: standby })
  })

  it('of the active key reads the same, and writes and opens nothing', async () => {
    const statements = await statementsOf(() => webKeys.activate(actor, active))
    expect(transactionsIn(statements)).toHaveLength(2)
    expect(statements.filter((text) => /^(update|insert)/.test(text))).toEqual([])
    expect(statements.length).toBeLessThan(MAX_STATEMENTS)
    expect(opened).toEqual([])
    expect(served().signer).toBe(active)
  })
})
