import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { Access, type AuthenticatedCaller } from '../../../../src/app/access/access.ts'
import { AttemptLimiter } from '../../../../src/app/access/attempt-limiter.ts'
import { Replica } from '../../../../src/app/replica/replica.ts'
import { createIntegrity, deriveKeys } from '../../../../src/crypto/integrity-key.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import type { ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import type { TokenBinding } from '../../../../src/domain/identities/token-binding.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../../src/domain/keys/rotation-policy.ts'
import { createWebKey } from '../../../../src/domain/keys/web-key.ts'
import type { InstanceReader, InstanceState, InstanceStatus } from '../../../../src/domain/ports/instance.ts'
import { dpopFor, newProofKey, proofOf } from '../../../support/dpop.ts'
import { newKeyPair } from '../../../support/keys.ts'
import { createRecordingLog } from '../../../support/log.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const ISSUER = 'https://id.example.com'
const NOW = new Date('2026-11-02T12:00:00Z')
const LATER = new Date('2027-01-01T00:00:00Z')
const HERE = '192.0.2.1'
const ELSEWHERE = '192.0.2.2'
const USE = { method: 'POST', path: '/', proof: null, certificate: () => ({ kind: 'none' }) as const }

const { secrets } = createIntegrity(deriveKeys(Buffer.alloc(32, 'integrity')))
const webKey = createWebKey(newKeyPair(), NOW)

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const newToken = () => secrets.generatePersonalAccessToken().token
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
    secrets: [],
    keys: [],
    personalAccessTokens: [],
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
    /** Access tokens whose web key is not in memory. */
    ofUnknownKeys: new Set<string>(),
    /** The key to which access tokens are bound. */
    boundTo: null as TokenBinding | null,
    outage: undefined as Error | undefined,
    /** The user as a read finds it that is not for the memory. */
    stored: user as ServiceUser | undefined,
    /** What a query for a token waits for. */
    hold: (_hash: Uint8Array): Promise<void> | undefined => undefined,
    /** What a read of a user for the memory waits for. */
    holdUsers: undefined as Promise<void> | undefined,
    add(token: string, { expiresAt = LATER, enabled = true } = {}): string {
      const hash = secrets.hashPersonalAccessToken(token)
      const personalAccessTokens = [{ tokenId: token.slice(-8), hash, createdAt: NOW, expiresAt }]
      tokens.set(hex(hash), { ...user, enabled, personalAccessTokens })
      return token
    },
    remove: (token: string) => tokens.delete(hex(secrets.hashPersonalAccessToken(token))),
  }
  const status = async (): Promise<InstanceStatus> => {
    if (instance.outage !== undefined) throw instance.outage
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
    federatedUsers: [],
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
      findUser: async () => instance.stored,
      findUserByPersonalAccessToken: async (hash) => {
        instance.queries += 1
        await instance.hold(hash)
        return tokens.get(hex(hash))
      },
    },
    verifier: {
      verify: async (token) => {
        instance.verifications += 1
        if (instance.ofUnknownKeys.has(token)) throw new DomainError('token_key_unknown', 'the web key is not known')
        if (!instance.signed.has(token)) throw new DomainError('token_invalid', 'the access token is not valid')
        return {
          subject: 'u',
          credential: {
            kind: 'access_token',
            keyId: webKey.keyId,
            tokenId: 'jti',
            expiresAt: LATER,
          },
          boundTo: instance.boundTo,
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
    const { token } = secrets.generatePersonalAccessToken()
    const altered = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    let address = 0
    for (const invented of [inventedToken(), altered, `${token}A`, token.slice(0, -1), 'ktn_pat_', 'ktn_pat_x']) {
      address += 1
      expect(await codeOf(bearer(invented), `198.51.100.${address}`)).toBe('token_invalid')
    }
    expect(instance.queries).toBe(0)
  })

  it('is refused while the database cannot be asked: nothing there matters', async () => {
    const { instance, replica, codeOf } = await startAccess()
    const { token } = secrets.generatePersonalAccessToken()
    instance.outage = new DomainError('storage_unavailable', 'the database is not available')
    await replica.refresh().catch(() => {})
    expect(await codeOf(bearer(inventedToken()))).toBe('token_invalid')
    expect(await codeOf(bearer(token))).toBe('storage_unavailable')
  })
})

describe('callers who prove themselves', () => {
  const MANY = 200

  it('do not wait behind invented client IDs, also before they are denied anything', async () => {
    const { access, instance, replica, codeOf } = await startAccess()
    instance.signed.add('a.b.c')
    expect(await codeOf(bearer('a.b.c'))).toBe('ok')
    const release = Promise.withResolvers<void>()
    instance.holdUsers = release.promise
    const flood = Array.from({ length: 1004 }, (_, i) => replica.readServiceUser(`invented-${i}`))
    await expect(replica.readServiceUser('one-too-many')).rejects.toMatchObject({ code: 'storage_unavailable' })

    const credential = { kind: 'personal_access_token', tokenId: 't', expiresAt: LATER } as const
    const before = { user: { ...newUser('u'), instanceRoles: [] }, credential, nextNonce: null }
    expect(await access.authorize(before, 'iam.user.read')).toMatchObject({ userId: 'u' })
    expect(await codeOf(bearer('a.b.c'))).toBe('ok')
    release.resolve()
    await Promise.all(flood)
  })

  it('do not wait behind tokens that were revoked', async () => {
    const [revoked, good] = [newToken(), newToken()]
    const { instance, codeOf } = await startAccess()
    instance.add(good)
    expect(await codeOf(bearer(revoked))).toBe('token_invalid')
    const release = Promise.withResolvers<void>()
    const isRevoked = hex(secrets.hashPersonalAccessToken(revoked))
    instance.hold = (hash) => (hex(hash) === isRevoked ? release.promise : undefined)
    const flood = Array.from({ length: MANY }, (_, i) => codeOf(bearer(revoked), `198.51.100.${i}`))
    expect(await codeOf(bearer(good))).toBe('ok')
    release.resolve()
    expect(new Set(await Promise.all(flood))).toEqual(new Set(['token_invalid', 'storage_unavailable']))
  })
})

describe('an address from which too many authentications have failed', () => {
  it('is refused before a query or a verification, and told for how long', async () => {
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
    expect([instance.queries, instance.verifications]).toEqual([0, 0])
    expect(await codeOf(bearer('a.b.c'), ELSEWHERE)).toBe('token_invalid')
    clock.advance(40_000)
    expect(await codeOf(bearer('a.b.c'))).toBe('token_invalid')
  })

  it('is served with tokens that were accepted before, or have a tag and were not refused before', async () => {
    const { instance, codeOf, failOften } = await startAccess()
    const [used, unused] = [newToken(), newToken()]
    for (const token of [used, unused]) instance.add(token)
    for (const jwt of ['a.b.c', 'd.e.f']) instance.signed.add(jwt)
    for (const token of [used, 'a.b.c']) expect(await codeOf(bearer(token), ELSEWHERE)).toBe('ok')
    await failOften()
    for (const token of [used, unused, 'a.b.c']) expect(await codeOf(bearer(token))).toBe('ok')
    expect(await codeOf(bearer('d.e.f'))).toBe('too_many_failures')
  })

  it('is served no more with a token once it has stopped working, and again when it works', async () => {
    const { instance, codeOf, failOften } = await startAccess()
    const token = instance.add(newToken())
    expect(await codeOf(bearer(token))).toBe('ok')
    await failOften()
    instance.remove(token)
    expect(await codeOf(bearer(token))).toBe('token_invalid')
    expect(await codeOf(bearer(token))).toBe('too_many_failures')
    instance.add(token)
    expect(await codeOf(bearer(token))).toBe('too_many_failures')
    expect(await codeOf(bearer(token), ELSEWHERE)).toBe('ok')
    expect(await codeOf(bearer(token))).toBe('ok')
  })

  it('is served no more with an access token that has stopped working', async () => {
    const { instance, codeOf, failOften } = await startAccess()
    instance.signed.add('a.b.c')
    expect(await codeOf(bearer('a.b.c'))).toBe('ok')
    await failOften()
    instance.signed.delete('a.b.c')
    expect(await codeOf(bearer('a.b.c'))).toBe('token_invalid')
    expect(await codeOf(bearer('a.b.c'))).toBe('too_many_failures')
  })

  it('is still told that a token is missing, which counts for nothing', async () => {
    const { codeOf, failOften } = await startAccess()
    for (let i = 0; i < 10; i += 1) expect(await codeOf(null)).toBe('token_missing')
    await failOften()
    expect(await codeOf('')).toBe('token_missing')
  })
})

describe('what counts as a failed authentication', () => {
  it('is an access token whose web key stays unknown', async () => {
    const { clock, instance, codeOf } = await startAccess()
    const token = 'header.claims.signature'
    instance.ofUnknownKeys.add(token)
    const codes: string[] = []
    for (let i = 0; i < 4; i += 1) {
      // Memory is refreshed only so often.
      clock.advance(5_000)
      codes.push(await codeOf(bearer(token)))
    }
    expect(codes).toEqual([...Array.from({ length: 3 }, () => 'token_key_unknown'), 'too_many_failures'])
  })

  it('is a personal access token of a disabled user', async () => {
    const { instance, codeOf } = await startAccess()
    expect(await codeOf(bearer(instance.add(newToken(), { enabled: false })))).toBe('token_invalid')
    expect(await codeOf(bearer(instance.add(newToken())))).toBe('ok')
  })

  it('is a personal access token from its expiry on', async () => {
    const { instance, codeOf } = await startAccess()
    const millisecond = (count: number) => new Date(NOW.getTime() + count)
    expect(await codeOf(bearer(instance.add(newToken(), { expiresAt: millisecond(1) })))).toBe('ok')
    const expired = bearer(instance.add(newToken(), { expiresAt: millisecond(0) }))
    const codes: string[] = []
    for (let i = 0; i < 4; i += 1) codes.push(await codeOf(expired))
    expect(codes).toEqual([...Array.from({ length: 3 }, () => 'token_invalid'), 'too_many_failures'])
  })

  it('is a stolen token that is bound to a key, without a proof, and its owner is served elsewhere [RFC 9449 §7.2]', async () => {
    const { access, instance, codeOf } = await startAccess()
    const key = await newProofKey()
    instance.signed.add('a.b.c')
    instance.boundTo = { kind: 'dpop', thumbprint: key.jkt }
    for (let i = 0; i < 3; i += 1) expect(await codeOf(bearer('a.b.c'))).toBe('token_bound')
    expect(await codeOf(bearer('a.b.c'))).toBe('too_many_failures')
    const iat = NOW.getTime() / 1000
    const proof = await proofOf(key, { url: `${ISSUER}/`, accessToken: 'a.b.c', claims: { iat } })
    expect(await access.authenticate('DPoP a.b.c', ELSEWHERE, { ...USE, proof })).toMatchObject({
      user: { userId: 'u' },
    })
  })
})

describe('a caller whose permission is not in memory', () => {
  const caller: AuthenticatedCaller = {
    user: { ...newUser('u'), instanceRoles: ['IAM_OWNER_VIEWER'] },
    credential: { kind: 'access_token', keyId: webKey.keyId, tokenId: 'jti', expiresAt: LATER },
    nextNonce: null,
  }

  it.each<[string, ServiceUser | undefined, string]>([
    ['has it by now', newUser('u'), 'ok'],
    ['has it by now and is disabled', { ...newUser('u'), enabled: false }, 'permission_missing'],
    ['has not got it', { ...newUser('u'), instanceRoles: ['IAM_OWNER_VIEWER'] }, 'permission_missing'],
    ['has been deleted', undefined, 'permission_missing'],
  ])('%s', async (_, stored, expected) => {
    const { access, instance } = await startAccess()
    instance.stored = stored
    const answer = await access.authorize(caller, 'iam.user.write').then(
      () => 'ok',
      (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
    )
    expect(answer).toBe(expected)
  })
})
