import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
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
import { createProvider, type ProviderOptions } from '../../../src/oauth/provider.ts'
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

/** How far the time of the instance is ahead of this machine's. */
let secondsOff = 0
afterEach(() => {
  secondsOff = 0
})

/** The provider of a ring in which the key at `position` is active. */
async function providerSigningWith(
  position: number,
  assertions: ProviderOptions['assertions'] = { useAssertionOnce: async () => true },
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
  const options = {
    issuer: ISSUER,
    tokenLifetimeSeconds: 60,
    assertionAudience: 'issuer' as const,
    acceptsZitadelScopes: false,
    now: () => new Date(Date.now() + secondsOff * 1000),
    directory,
    introspection: { introspect: async () => undefined },
    revocations: { revoke: async () => {} },
    federation: NO_FEDERATION,
    assertions,
    dpop: dpopFor(ISSUER, () => new Date()),
    attempts: new AttemptLimiter({ clock: { monotonic: () => 0 } }),
    audit: { refuse: () => {} },
    secretUses: { note: (secretId: string) => used.push(secretId) },
    contexts: new RequestContexts(createAddressReader([])),
    log,
  }
  return { ring, log, used, provider: createProvider(ring, signer, options) }
}

let server: Server
let url: string
let current: Awaited<ReturnType<typeof providerSigningWith>>['provider']

beforeAll(async () => {
  server = createServer((req, res) => void current.callback()(req, res)).listen(0, '127.0.0.1')
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
  const now = Math.floor(Date.now() / 1000) + secondsOff
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

describe('oidc-provider', () => {
  it.each(CONFIGS.map((config, i) => [JSON.stringify(config), i] as const))(
    'signs with the active key %s, whatever other keys are published [Spec §3]',
    async (_, position) => {
      const { provider, ring, log } = await providerSigningWith(position)
      current = provider
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

  it('publishes the same key set as the endpoint that stands in for it, the active key first', async () => {
    const { provider, ring } = await providerSigningWith(2)
    current = provider
    const published = (await (await fetch(`${url}/.well-known/openid-configuration/jwks`)).json()) as {
      keys: { kid: string }[]
    }
    expect(published).toEqual({ keys: [...keySetOf(ring).keys] })
    const newestFirst = ring.map(({ keyId }) => keyId).reverse()
    const active = ring[2]!.keyId
    expect(published.keys.map(({ kid }) => kid)).toEqual([active, ...newestFirst.filter((keyId) => keyId !== active)])
  })

  it('records which secret got a token, and no other', async () => {
    const { provider, used } = await providerSigningWith(3)
    current = provider
    expect((await requestToken('wrong')).status).toBe(401)
    expect(used).toEqual([])
    expect((await requestToken()).status).toBe(200)
    expect(used).toEqual(['1'])
  })

  it.each(['introspect', 'revoke'])('tells which secret was proved at the endpoint to %s tokens', async (endpoint) => {
    const { provider, used } = await providerSigningWith(3)
    current = provider
    const ask = async (token: string, client_secret = secret) => {
      const body = new URLSearchParams({ client_id: `${USER_ID}@billing`, client_secret, token })
      return (await fetch(`${url}/oauth/v2/${endpoint}`, { method: 'POST', body })).status
    }
    expect([await ask('unknown', 'wrong'), await ask('')]).toEqual([401, 400])
    expect(used).toEqual([])
    expect([await ask('unknown'), await ask('e30.e30.e30')]).toEqual([200, 200])
    expect(used).toEqual(['1', '1'])
  })

  it.each([
    ['ahead of', 600],
    ['behind', -600],
  ])('goes by the time of the instance when that is %s this machine', async (_, seconds) => {
    const { provider, ring } = await providerSigningWith(3)
    current = provider
    secondsOff = seconds
    const now = Math.floor(Date.now() / 1000) + seconds
    const body = (await (await requestToken()).json()) as { access_token: string; expires_in: number }
    const keySet = createLocalJWKSet({ keys: keySetOf(ring).keys.map((key) => ({ ...key })) })
    const { payload } = await jwtVerify(body.access_token, keySet, { currentDate: new Date((now + 5) * 1000) })
    expect(Math.abs((payload.iat ?? 0) - now)).toBeLessThan(60)
    expect([(payload.exp ?? 0) - (payload.iat ?? 0), body.expires_in]).toEqual([60, 60])

    expect((await presentAssertion(60)).status).toBe(200)
    expect((await presentAssertion(-120)).status).toBe(401)
    expect((await presentAssertion(4000)).status).toBe(401)
    secondsOff = 0
    expect((await presentAssertion(60)).status).toBe(200)
  })

  it('does not accept an assertion when its replay cannot be checked', async () => {
    const { provider, log } = await providerSigningWith(3, {
      useAssertionOnce: () => Promise.reject(new DomainError('storage_unavailable', 'no database')),
    })
    current = provider
    const response = await presentAssertion()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(log.lines).toEqual([])
  })
})
