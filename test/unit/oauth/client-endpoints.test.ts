import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import { AttemptLimiter } from '../../../src/app/access/attempt-limiter.ts'
import { createKeyPairGenerator } from '../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../src/crypto/sealed-key.ts'
import { createSignerFactory } from '../../../src/crypto/signer.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { createServiceUser, type ServiceUser } from '../../../src/domain/identities/service-user.ts'
import type { PublicJwk, WebKeyConfig } from '../../../src/domain/keys/key-algorithm.ts'
import type { KeyRing, SealedKeyPair } from '../../../src/domain/keys/key-ring.ts'
import { activate, createWebKey } from '../../../src/domain/keys/web-key.ts'
import { createAddressReader } from '../../../src/http/requests/client-address.ts'
import { RequestContexts } from '../../../src/http/requests/request-context.ts'
import { keySetOf } from '../../../src/oauth/documents/jwks.ts'
import { publishDocument } from '../../../src/oauth/documents/published-document.ts'
import { createOAuth, type OAuthOptions, type OAuthRoutes } from '../../../src/oauth/routes.ts'
import { dpopFor } from '../../support/dpop.ts'
import { TEST_INTEGRITY } from '../../support/integrity.ts'
import { createRecordingLog } from '../../support/log.ts'
import { NO_FEDERATION } from '../../support/no-federation.ts'

const ISSUER = 'http://localhost:1'
const USER_ID = '0b6e2f5c-9a3d-4a57-8f65-0f8f0a4f8f11'
const CONFIGS: readonly WebKeyConfig[] = [
  { kind: 'rsa', bits: 2048, hasher: 'sha256' },
  { kind: 'rsa', bits: 2048, hasher: 'sha384' },
  { kind: 'rsa', bits: 2048, hasher: 'sha512' },
  { kind: 'ecdsa', curve: 'P-256' },
  { kind: 'ecdsa', curve: 'P-384' },
  { kind: 'ecdsa', curve: 'P-521' },
  { kind: 'ed25519' },
]

const sealer = createKeySealer(parseMasterKeys(generateMasterKey()))
const { secrets } = TEST_INTEGRITY
const { secret, hash } = secrets.generate()
const userKey = generateKeyPairSync('ed25519')
const publicJwk = userKey.publicKey.export({ format: 'jwk' }) as PublicJwk
const pairs: SealedKeyPair[] = []

beforeAll(async () => {
  const generator = createKeyPairGenerator(sealer)
  for (const config of CONFIGS) pairs.push(await generator.generate(config))
})

/** The endpoints with a ring in which the key at `position` is active. */
async function endpointsSigningWith(
  position: number,
  assertions: OAuthOptions['assertions'] = { useAssertionOnce: async () => true },
) {
  const at = new Date()
  const ring: KeyRing = pairs.map((pair, i) => {
    const key = createWebKey(pair, at)
    return i === position ? activate(key, at) : key
  })
  const key = ring[position]
  if (key?.state !== 'active') throw new Error('there is no such key')
  const signer = await createSignerFactory(sealer).open(key, pairs[position]!.sealedPrivateKey)
  const user: ServiceUser = {
    ...createServiceUser(
      {
        userId: USER_ID,
        name: 'user',
        projectId: 'project-id',
        projectName: 'billing',
        clientCredentialsEnabled: true,
      },
      at,
    ),
    secrets: [{ secretId: '1', hash, createdAt: at, expiresAt: null, deactivatedAt: null, lastUsedAt: null }],
    keys: [{ keyId: '1', publicJwk, createdAt: at, expiresAt: null }],
  }
  const recallServiceUser = (userId: string) => (userId === USER_ID ? user : undefined)
  const directory = { secrets, recallServiceUser, readServiceUser: async (userId: string) => recallServiceUser(userId) }
  const log = createRecordingLog()
  const used: string[] = []
  const examined: string[] = []
  const options = {
    issuer: ISSUER,
    tokenLifetimeSeconds: 60,
    assertionAudience: 'issuer' as const,
    acceptsZitadelScopes: false,
    now: () => new Date(),
    directory,
    introspection: {
      introspect: async (token: string) => {
        examined.push(token)
        return undefined
      },
    },
    revocations: { revoke: async () => {} },
    federation: NO_FEDERATION,
    assertions,
    dpop: dpopFor(ISSUER, () => new Date()),
    attempts: new AttemptLimiter({ clock: { monotonic: () => 0 } }),
    audit: { refuse: () => {} },
    secretUses: { note: (secretId: string) => used.push(secretId) },
    contexts: new RequestContexts(createAddressReader([])),
    log,
    openApi: publishDocument({}),
    jwksMaxAgeSeconds: 300,
    isFresh: () => true,
    stalenessSeconds: () => 0,
  }
  const { routes, switchTo } = createOAuth(options)
  switchTo({ ring, signer })
  return { ring, log, used, examined, routes }
}

let server: Server
let url: string
let current: OAuthRoutes

beforeAll(async () => {
  server = createServer((req, res) => {
    const name = req.url?.endsWith('token') ? 'token' : req.url?.endsWith('introspect') ? 'introspection' : 'revocation'
    void current[name](req, res, [])
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

function requestToken(clientSecret = secret): Promise<Response> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: `${USER_ID}@billing`,
    client_secret: clientSecret,
  })
  return fetch(`${url}/oauth/v2/token`, { method: 'POST', body })
}

/** Asks for a token with an assertion that is good. */
async function presentAssertion(assertionLifetime = 60): Promise<Response> {
  const clientId = `${USER_ID}@billing`
  const now = Math.floor(Date.now() / 1000)
  const assertion = await new SignJWT({ jti: 'one' })
    .setProtectedHeader({ alg: 'EdDSA' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(ISSUER)
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + assertionLifetime)
    .sign(userKey.privateKey)
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  })
  return fetch(`${url}/oauth/v2/token`, { method: 'POST', body })
}

describe('the endpoints at which clients authenticate', () => {
  it.each(CONFIGS.map((config, i) => [JSON.stringify(config), i] as const))(
    'signs with the active key %s, whatever other keys are published [Spec §3]',
    async (_, position) => {
      const { routes, ring, log } = await endpointsSigningWith(position)
      current = routes
      const response = await requestToken()
      const { access_token } = (await response.json()) as { access_token: string }

      expect(response.status).toBe(200)
      expect(decodeProtectedHeader(access_token)).toEqual({
        alg: ring[position]?.algorithm,
        kid: ring[position]?.keyId,
        typ: 'at+jwt',
      })
      const keySet = createLocalJWKSet({ keys: keySetOf(ring).keys.map((key) => ({ ...key })) })
      const { payload } = await jwtVerify(access_token, keySet, { issuer: ISSUER, audience: 'project-id' })
      expect(payload).toMatchObject({ sub: USER_ID, scope: 'openid' })
      expect(log.lines).toEqual([])
    },
  )

  it('records which secret got a token, and no other', async () => {
    const { routes, used } = await endpointsSigningWith(3)
    current = routes
    expect((await requestToken('wrong')).status).toBe(401)
    expect(used).toEqual([])
    expect((await requestToken()).status).toBe(200)
    expect(used).toEqual(['1'])
  })

  it.each(['introspect', 'revoke'])('tells which secret was proved at the endpoint to %s tokens', async (endpoint) => {
    const { routes, used } = await endpointsSigningWith(3)
    current = routes
    const ask = async (token: string, client_secret = secret) => {
      const body = new URLSearchParams({ client_id: `${USER_ID}@billing`, client_secret, token })
      return (await fetch(`${url}/oauth/v2/${endpoint}`, { method: 'POST', body })).status
    }
    expect([await ask('unknown', 'wrong'), await ask('')]).toEqual([401, 400])
    expect(used).toEqual([])
    expect([await ask('unknown'), await ask('e30.e30.e30')]).toEqual([200, 200])
    expect(used).toEqual(['1', '1'])
  })

  it.each(['introspect', 'revoke'])(
    'looks at no token of others, so that it is like a forged one: %s',
    async (endpoint) => {
      const { routes, examined } = await endpointsSigningWith(3)
      current = routes
      const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const answerTo = async (claims: object) => {
        const token = `${text({ alg: 'ES256' })}.${text(claims)}.AAAA`
        const body = new URLSearchParams({ client_id: `${USER_ID}@billing`, client_secret: secret, token })
        return (await fetch(`${url}/oauth/v2/${endpoint}`, { method: 'POST', body })).text()
      }
      const ofOthers = await answerTo({ aud: ['another project'], sub: 'another user' })
      expect(examined).toEqual([])
      const own = await answerTo({ aud: ['project-id'], sub: USER_ID })
      expect(examined).toHaveLength(1)
      expect(own).toBe(ofOthers)
    },
  )

  it('records each assertion under a short id, until it and the tolerance of clocks have passed', async () => {
    const marks: { id: string; expiresAt: Date }[] = []
    const { routes, used } = await endpointsSigningWith(3, {
      useAssertionOnce: async (id, expiresAt) => marks.push({ id, expiresAt }) === 1,
    })
    current = routes
    const before = Date.now()
    expect((await presentAssertion()).status).toBe(200)
    expect((await presentAssertion()).status).toBe(401)

    expect(marks.map(({ id }) => id)).toEqual([expect.stringMatching(/^[\w-]{43}$/), marks[0]?.id])
    expect(marks[0]?.expiresAt.getTime()).toBeGreaterThanOrEqual(before - 1000 + 120_000)
    expect(used).toEqual([])
  })

  it('does not accept an assertion when its replay cannot be checked', async () => {
    const { routes, log } = await endpointsSigningWith(3, {
      useAssertionOnce: () => Promise.reject(new DomainError('storage_unavailable', 'no database')),
    })
    current = routes
    const response = await presentAssertion()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(log.lines).toEqual([])
  })
})
