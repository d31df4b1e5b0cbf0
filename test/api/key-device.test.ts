/**
 * The port for signing, proven with an implementation that shares nothing with the one of `src/crypto`: the private keys
 * are in another process and never leave it.
 */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { AttemptLimiter } from '../../src/app/access/attempt-limiter.ts'
import { createDecryptabilityCheck } from '../../src/app/keys/decryptability-check.ts'
import { createWebKeys, type WebKeys } from '../../src/app/keys/web-keys.ts'
import { bootstrap } from '../../src/app/replica/bootstrap.ts'
import { Replica } from '../../src/app/replica/replica.ts'
import type { Actor } from '../../src/domain/identities/authority.ts'
import { WHOLE_INSTANCE } from '../../src/domain/identities/reach.ts'
import type { WebKeyConfig } from '../../src/domain/keys/key-algorithm.ts'
import { createAddressReader } from '../../src/http/requests/client-address.ts'
import { RequestContexts } from '../../src/http/requests/request-context.ts'
import { createRouter, notFound, type Route } from '../../src/http/requests/router.ts'
import { publishDocument } from '../../src/oauth/documents/jwks.ts'
import { createOAuth } from '../../src/oauth/routes.ts'
import { systemClock, systemTime } from '../../src/server/system-clock.ts'
import { createInstanceInitializer } from '../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../src/storage/keys/key-store.ts'
import { createSealedKeyStore } from '../../src/storage/keys/sealed-key-store.ts'
import { migrate } from '../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../src/storage/postgres/database.ts'
import { dpopFor } from '../support/dpop.ts'
import { TEST_INTEGRITY, TEST_MACS } from '../support/integrity.ts'
import { createRecordingLog } from '../support/log.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { NO_FEDERATION } from '../support/no-federation.ts'
import { type KeyDevice, startKeyDevice } from './device-signer.ts'

const ISSUER = 'http://localhost:1'
const KEY_SET = '/jwks'
const log = createRecordingLog()
const { clientSecrets } = TEST_INTEGRITY.secrets

let device: KeyDevice
let database: Database
let replica: Replica
let webKeys: WebKeys
let server: Server
let baseUrl: string
let administrator: { readonly clientId: string; readonly clientSecret: string }
/** The first administrator, with an access token that the first key signed. */
let actor: Actor
beforeAll(async () => {
  device = startKeyDevice()
  const { generator, signers, check } = device
  database = openDatabase({ url: await newPostgresDatabase(), log })
  await migrate(database)
  await bootstrap({
    configuration: null,
    initializer: createInstanceInitializer(database),
    generator,
    newIntegrity: async () => ({ sealedIntegrityKey: 'device:integrity', ...TEST_INTEGRITY }),
    given: null,
    credentials: {
      async write(credentials) {
        administrator = credentials
      },
    },
    issuer: ISSUER,
    newId: randomUUID,
  })
  const reader = createInstanceReader(database, TEST_MACS)
  const feed = { subscribe: () => async () => {}, status: () => 'off' as const }
  replica = new Replica({
    reader,
    feed,
    signers,
    clock: systemClock,
    log,
    issuer: ISSUER,
    maxStalenessSeconds: 300,
  })
  const contexts = new RequestContexts(createAddressReader([]))
  const { routes, switchTo } = createOAuth({
    issuer: ISSUER,
    assertionAudience: 'issuer',
    acceptsZitadelScopes: false,
    tokenLifetimeSeconds: 60,
    now: systemTime,
    replica,
    clientSecrets,
    introspection: { introspect: async () => undefined },
    revocations: { revoke: async () => {} },
    federation: NO_FEDERATION,
    assertions: { useAssertionOnce: async () => true },
    dpop: dpopFor(ISSUER, systemTime),
    contexts,
    attempts: new AttemptLimiter({ clock: systemClock }),
    audit: { refuse: () => {} },
    secretUses: { note: () => {} },
    log,
    openApi: publishDocument({}),
    jwksMaxAgeSeconds: 300,
    isFresh: () => true,
    stalenessSeconds: () => 0,
  })
  replica.onChange(switchTo)
  await replica.start()
  const userId = administrator.clientId.split('@')[0]!
  const { keyId } = replica.keys().ring[0]!
  const credential = {
    kind: 'access_token',
    keyId,
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
  webKeys = createWebKeys({
    store: createKeyStore(database, TEST_MACS),
    reader,
    generator,
    replica,
    decryptability: createDecryptabilityCheck({ keys: createSealedKeyStore(database), check, log }),
    log,
    activationGuard: 'off',
    limits: { jwksMaxAgeSeconds: 0, tokenLifetimeSeconds: 60, maxStalenessSeconds: 300, maxWebKeys: 50 },
    now: systemTime,
  })

  const handler = createRouter({
    routes: new Map<string, Route>([
      [KEY_SET, { methods: { GET: routes.jwks }, cors: null, sendsHeaders: true }],
      ['/oauth/v2/token', { methods: { POST: routes.token }, cors: null, sendsHeaders: true }],
    ]),
    fallback: notFound,
    maxBodyBytes: 65_536,
    contexts,
    log,
    onAnswered: () => {},
  })
  server = createServer((req, res) => void handler(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server?.closeAllConnections()
  server?.close()
  await replica?.stop()
  await database?.close()
  await device?.stop()
})

function askForToken(): Promise<Response> {
  const { clientId, clientSecret } = administrator
  const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope: 'openid' }
  return fetch(`${baseUrl}/oauth/v2/token`, { method: 'POST', body: new URLSearchParams(body) })
}

/** Gets a token, verifies it with the published key set, and returns the id of the key that signed it. */
async function verifiedKeyId(): Promise<string | undefined> {
  const response = await askForToken()
  const { access_token: token } = (await response.json()) as { access_token: string }
  await jwtVerify(token, createRemoteJWKSet(new URL(KEY_SET, baseUrl)), { issuer: ISSUER, typ: 'at+jwt' })
  return decodeProtectedHeader(token).kid
}

describe('private keys in another process', () => {
  it('sign the tokens of an instance from its first key on', async () => {
    const [first] = (await createInstanceReader(database, TEST_MACS).load()).ring
    expect(await verifiedKeyId()).toBe(first?.keyId)
  })

  it.each<[string, WebKeyConfig]>([
    ['P-256', { kind: 'ecdsa', curve: 'P-256' }],
    ['Ed25519', { kind: 'ed25519' }],
    ['RSA', { kind: 'rsa', bits: 3072, hasher: 'sha384' }],
  ])('take over from one another: a rotation to %s', async (_, config) => {
    const { key } = await webKeys.create(actor, config, new AbortController().signal)
    const { keyId } = key
    await webKeys.activate(actor, keyId)
    expect(await verifiedKeyId()).toBe(keyId)
  })

  it('are not in the database, which has their names only', async () => {
    const rows = await database.db.selectFrom('web_keys').select('sealed_private_key').execute()
    expect(rows).toHaveLength(4)
    for (const row of rows) expect(row.sealed_private_key).toMatch(/^device:[0-9a-f-]{36}$/)
  })

  it('are needed: without them no token is issued, and none is signed by another key', async () => {
    await device.stop()
    const response = await askForToken()
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ error: 'server_error' })
  })
})
