import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { Access } from '../../../../src/app/access/access.ts'
import { AttemptLimiter } from '../../../../src/app/access/attempt-limiter.ts'
import { Replica } from '../../../../src/app/replica/replica.ts'
import { createIntegrity, deriveKeys } from '../../../../src/crypto/integrity-key.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import type { ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../../src/domain/keys/rotation-policy.ts'
import { createWebKey } from '../../../../src/domain/keys/web-key.ts'
import type { InstanceReader, InstanceState, InstanceStatus } from '../../../../src/domain/ports/instance.ts'
import { dpopFor } from '../../../support/dpop.ts'
import { newKeyPair } from '../../../support/keys.ts'
import { createRecordingLog } from '../../../support/log.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const ISSUER = 'https://id.example.com'
const NOW = new Date('2026-11-02T12:00:00Z')
const LATER = new Date('2027-01-01T00:00:00Z')
const HERE = '192.0.2.1'
const ELSEWHERE = '192.0.2.2'
const USE = { method: 'POST', path: '/', proof: null, certificate: () => ({ kind: 'none' }) as const }

const { personalAccessTokens: secrets } = createIntegrity(deriveKeys(Buffer.alloc(32, 'integrity'))).secrets
const webKey = createWebKey(newKeyPair(), NOW)

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const newToken = () => secrets.generate().secret
const inventedToken = () => `ktn_pat_${randomBytes(44).toString('base64url')}`
const bearer = (token: string) => `Bearer ${token}`

function newUser(userId: string): ServiceUser {
  return {
    userId,
    projectId: 'p',
    projectName: 'billing',
    name: 'robot',
    enabled: true,
    clientCredentialsEnabled: true,
    createdAt: NOW,
    instanceRoles: ['IAM_OWNER'],
    managedProjects: new Map(),
    projectRoles: new Map(),
    customScopes: [],
    projectsByAudience: new Map(),
    tokensRevokedAt: null,
    revokedTokens: [],
    tokenLifetimeSeconds: null,
    tokenClaims: {},
    credentials: [],
  } as unknown as ServiceUser
}

/** Access to an instance in memory whose queries are counted, and wait while the test says so. */
async function startAccess() {
  const tokens = new Map<string, ServiceUser>()
  const clock = new ManualClock()
  const user = newUser('u')
  const instance = {
    queries: 0,
    verifications: 0,
    signed: new Set<string>(),
    /** What a read of a user for the memory waits for. */
    holdUsers: undefined as Promise<void> | undefined,
    add(token: string): string {
      const hash = secrets.hash(token)
      const dates = { createdAt: NOW, expiresAt: LATER }
      const credential = { kind: 'personal_access_token', credentialId: token.slice(-8), hash, ...dates } as const
      tokens.set(hex(hash), { ...user, credentials: [credential] })
      return token
    },
    remove: (token: string) => tokens.delete(hex(secrets.hash(token))),
  }
  const status = async (): Promise<InstanceStatus> => {
    return {
      version: 1,
      changedAt: NOW,
      issuer: ISSUER,
      clock: { databaseTime: NOW, offsetSeconds: 0 },
      standby: null,
    }
  }
  const load = async (): Promise<InstanceState> => ({
    ...(await status()),
    ring: [webKey],
    sealedActiveKey: null,
    rotation: { policy: DEFAULT_ROTATION_POLICY, requestedAt: null },
    trustedIssuers: [],
    users: new Map(),
  })
  const reader: InstanceReader = {
    status,
    load,
    loadSince: async () => ({ ...(await load()), changes: { kind: 'any' } }),
    findServiceUser: async () => {
      await instance.holdUsers
      return { version: 1, changedAt: NOW, user }
    },
    findFederatedUsers: async () => ({ version: 1, changedAt: NOW, userIds: [] }),
  }
  const log = createRecordingLog()
  const replica = new Replica({
    reader,
    feed: { subscribe: () => async () => {}, status: () => 'off' },
    signers: { open: () => Promise.reject(new Error('no key is active here')) },
    clock,
    log,
    issuer: ISSUER,
    maxStalenessSeconds: 60,
  })
  await replica.refresh()
  const attempts = new AttemptLimiter({ clock, maxPerName: 3, maxPerAddress: 5 })
  const access = new Access({
    replica,
    attempts,
    secrets,
    digest,
    dpop: dpopFor(ISSUER, () => NOW),
    now: () => NOW,
    store: {
      findUser: async () => user,
      findUserByPersonalAccessToken: async (hash) => {
        instance.queries += 1
        return tokens.get(hex(hash))
      },
    },
    verifier: {
      verify: async (token) => {
        instance.verifications += 1
        if (!instance.signed.has(token)) throw new DomainError('token_invalid', 'the access token is not valid')
        return {
          subject: 'u',
          credential: {
            kind: 'access_token',
            keyId: webKey.keyId,
            tokenId: 'jti',
            expiresAt: LATER,
          },
          boundTo: null,
        }
      },
    },
  })
  const codeOf = (authorization: string | null, address = HERE): Promise<string> =>
    access.authenticate(authorization, address, USE).then(
      () => 'ok',
      (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
    )
  const failOften = async (times = 5, address = HERE) => {
    for (let i = 0; i < times; i += 1) expect(await codeOf(bearer(inventedToken()), address)).toBe('token_invalid')
  }
  return { access, instance, replica, clock, codeOf, failOften }
}

describe('an invented personal access token', () => {
  it('is refused without a query', async () => {
    const { instance, codeOf } = await startAccess()
    const { secret: token } = secrets.generate()
    const altered = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    let address = 0
    for (const invented of [inventedToken(), altered, `${token}A`, token.slice(0, -1), 'ktn_pat_', 'ktn_pat_x']) {
      address += 1
      expect(await codeOf(bearer(invented), `198.51.100.${address}`)).toBe('token_invalid')
    }
    expect(instance.queries).toBe(0)
  })
})

describe('callers who prove themselves', () => {
  it('do not wait behind invented client IDs, also before they are denied anything', async () => {
    const { access, instance, replica, codeOf } = await startAccess()
    instance.signed.add('a.b.c')
    expect(await codeOf(bearer('a.b.c'))).toBe('ok')
    const release = Promise.withResolvers<void>()
    instance.holdUsers = release.promise
    const flood = Array.from({ length: 1004 }, (_, i) => replica.identities.read(`invented-${i}`))
    await expect(replica.identities.read('one-too-many')).rejects.toMatchObject({ code: 'storage_unavailable' })

    const credential = { kind: 'personal_access_token', tokenId: 't', expiresAt: LATER } as const
    const before = { user: { ...newUser('u'), instanceRoles: [] }, credential, nextNonce: null }
    expect(await access.authorize(before, 'iam.user.read')).toMatchObject({ userId: 'u' })
    expect(await codeOf(bearer('a.b.c'))).toBe('ok')
    release.resolve()
    await Promise.all(flood)
  })
})

describe('an address from which too many authentications have failed', () => {
  it('is told for how long it is refused, whatever it invents, and another address is not', async () => {
    const { access, instance, clock, codeOf, failOften } = await startAccess()
    await failOften()
    clock.advance(20_000)
    for (const token of [inventedToken(), 'a.b.c', 'nonsense']) {
      expect(await codeOf(bearer(token))).toBe('too_many_failures')
    }
    expect(await codeOf('Basic x')).toBe('too_many_failures')
    await expect(access.authenticate(bearer('a.b.c'), HERE, USE)).rejects.toMatchObject({
      metadata: { retry_after_seconds: '40' },
    })
    expect(instance.queries).toBe(0)
    expect(await codeOf(bearer('a.b.c'), ELSEWHERE)).toBe('token_invalid')
    clock.advance(40_000)
    expect(await codeOf(bearer('a.b.c'))).toBe('token_invalid')
  })

  it('is served with tokens that are valid', async () => {
    const { instance, codeOf, failOften } = await startAccess()
    await failOften()
    instance.signed.add('a.b.c')
    for (const token of [instance.add(newToken()), 'a.b.c']) expect(await codeOf(bearer(token))).toBe('ok')
  })
})

describe('a token that has been refused too often at an address', () => {
  it('is refused there before a query or a verification', async () => {
    const { instance, codeOf } = await startAccess()
    const revoked = newToken()
    for (const token of [revoked, 'a.b.c']) {
      for (let i = 0; i < 3; i += 1) expect(await codeOf(bearer(token), token)).toBe('token_invalid')
    }
    const before = [instance.queries, instance.verifications]
    for (const token of [revoked, 'a.b.c']) expect(await codeOf(bearer(token), token)).toBe('too_many_failures')
    expect([instance.queries, instance.verifications]).toEqual(before)
    expect(await codeOf(bearer(instance.add(revoked)), HERE)).toBe('ok')
  })

  it('is so too where the address has failed too often before', async () => {
    const { instance, codeOf, failOften } = await startAccess()
    await failOften()
    const revoked = newToken()
    for (let i = 0; i < 5; i += 1) expect(await codeOf(bearer(revoked))).toBe('too_many_failures')
    expect(instance.queries).toBe(3)
    expect(await codeOf(bearer(instance.add(newToken())))).toBe('ok')
  })
})
