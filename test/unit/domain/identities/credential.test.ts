import { describe, expect, it } from '@jest/globals'
import { DomainError, type DomainErrorCode } from '../../../../src/domain/errors.ts'
import {
  addKeys,
  addPersonalAccessToken,
  addSecret,
  type ClientSecret,
  deactivateSecret,
  deleteSecret,
  findSecret,
  isLive,
  type PersonalAccessToken,
  removeKey,
  revokePersonalAccessToken,
  type UserKey,
} from '../../../../src/domain/identities/credential.ts'
import { createServiceUser, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'

const now = new Date('2030-01-01T00:00:00Z')
const before = new Date(now.getTime() - 1)
const after = new Date(now.getTime() + 1)

const secret = (changes: Partial<ClientSecret> = {}): ClientSecret => ({
  secretId: 'secret-1',
  hash: new Uint8Array(32),
  createdAt: now,
  expiresAt: null,
  deactivatedAt: null,
  lastUsedAt: null,
  ...changes,
})

const key = (changes: Partial<UserKey> = {}): UserKey => ({
  keyId: 'key-1',
  publicJwk: { kty: 'OKP', crv: 'Ed25519', x: 'x' },
  createdAt: now,
  expiresAt: null,
  ...changes,
})

const token = (changes: Partial<PersonalAccessToken> = {}): PersonalAccessToken => ({
  tokenId: 'token-1',
  hash: new Uint8Array(32),
  createdAt: now,
  expiresAt: after,
  ...changes,
})

const YEAR = { clock: now, maxLifetimeDays: 365 }

const user: ServiceUser = createServiceUser(
  { userId: 'user-1', name: 'robot', projectId: 'project-1', projectName: 'billing', clientCredentialsEnabled: true },
  now,
)

function codeOf(act: () => unknown): DomainErrorCode | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    if (error instanceof DomainError) return error.code
    throw error
  }
}

/** The user after doing something for each number from 0. */
function repeated(times: number, act: (user: ServiceUser, i: number) => ServiceUser): ServiceUser {
  return Array.from({ length: times }).reduce<ServiceUser>((current, _, i) => act(current, i), user)
}

describe('a client secret', () => {
  it('is live for ever if it has no dates', () => {
    expect(isLive(secret({}), now)).toBe(true)
  })

  it.each([
    ['before its expiry', true, after],
    ['at its expiry', false, now],
    ['after its expiry', false, before],
  ])('%s: live is %j [Spec §7]', (_, live, expiresAt) => {
    expect(isLive(secret({ expiresAt }), now)).toBe(live)
  })

  it.each([
    ['before', before],
    ['now', now],
    ['by a clock that is ahead of this one', after],
  ])('is dead when it was deactivated %s [Spec §7]', (_, deactivatedAt) => {
    expect(isLive(secret({ deactivatedAt }), now)).toBe(false)
  })
})

describe('the secrets of a user', () => {
  it('are added, deactivated once and deleted [Spec §5]', () => {
    const one = addSecret(user, secret(), now)
    const two = addSecret(one, secret({ secretId: 'secret-2', expiresAt: after }), now)
    expect(two.secrets.map(({ secretId }) => secretId)).toEqual(['secret-1', 'secret-2'])

    const deactivated = deactivateSecret(two, 'secret-1', now)
    expect(findSecret(deactivated, 'secret-1').deactivatedAt).toEqual(now)
    expect(deactivateSecret(deactivated, 'secret-1', after)).toBe(deactivated)
    expect(deleteSecret(deactivated, 'secret-1').secrets.map(({ secretId }) => secretId)).toEqual(['secret-2'])
  })

  it('are at most ten that work', () => {
    const ten = repeated(10, (current, i) => addSecret(current, secret({ secretId: `secret-${i}` }), now))
    expect(codeOf(() => addSecret(ten, secret({ secretId: 'one more' }), now))).toBe('client_secret_limit_reached')
    const nine = deactivateSecret(ten, 'secret-0', now)
    expect(addSecret(nine, secret({ secretId: 'one more' }), now).secrets).toHaveLength(11)
  })

  it('are at most a hundred, working or not', () => {
    const all = repeated(100, (current, i) => {
      const secretId = `secret-${i}`
      return deactivateSecret(addSecret(current, secret({ secretId }), now), secretId, now)
    })
    expect(codeOf(() => addSecret(all, secret({ secretId: 'one more' }), now))).toBe('client_secret_limit_reached')
  })

  it('cannot have expired before they begin, and must exist', () => {
    expect(codeOf(() => addSecret(user, secret({ expiresAt: now }), now))).toBe('expiration_in_past')
    expect(codeOf(() => deactivateSecret(user, 'secret-1', now))).toBe('client_secret_not_found')
    expect(codeOf(() => deleteSecret(user, 'secret-1'))).toBe('client_secret_not_found')
  })
})

describe('the public keys of a user', () => {
  it('are added together and removed', () => {
    const two = addKeys(user, [key(), key({ keyId: 'key-2' })], now)
    expect(removeKey(two, 'key-1').keys.map(({ keyId }) => keyId)).toEqual(['key-2'])
    expect(codeOf(() => removeKey(user, 'key-1'))).toBe('user_key_not_found')
  })

  it('are at most ten, and none that has expired', () => {
    const nine = addKeys(
      user,
      Array.from({ length: 9 }, (_, i) => key({ keyId: `key-${i}` })),
      now,
    )
    expect(codeOf(() => addKeys(nine, [key({ keyId: 'a' }), key({ keyId: 'b' })], now))).toBe('user_key_limit_reached')
    expect(codeOf(() => addKeys(user, [key({ expiresAt: before })], now))).toBe('expiration_in_past')
  })
})

describe('the personal access tokens of a user', () => {
  it('are added and revoked', () => {
    const one = addPersonalAccessToken(user, token(), YEAR)
    expect(revokePersonalAccessToken(one, 'token-1').personalAccessTokens).toEqual([])
    expect(codeOf(() => revokePersonalAccessToken(user, 'token-1'))).toBe('personal_access_token_not_found')
    expect(codeOf(() => addPersonalAccessToken(user, token({ expiresAt: now }), YEAR))).toBe('expiration_in_past')
  })

  it('live for so many days at most, with a minute for clocks that differ', () => {
    const day = 86_400_000
    const add = (days: number, millis = 0) =>
      codeOf(() =>
        addPersonalAccessToken(user, token({ expiresAt: new Date(now.getTime() + days * day + millis) }), YEAR),
      )
    expect([add(365), add(365, 60_000)]).toEqual([undefined, undefined])
    expect([add(365, 60_001), add(3650)]).toEqual(['expiration_too_late', 'expiration_too_late'])

    const late = token({ expiresAt: new Date(now.getTime() + 2 * day) })
    const options = { clock: now, maxLifetimeDays: 1 }
    expect(() => addPersonalAccessToken(user, late, options)).toThrow('at most 1 day after it is created')
    expect(addPersonalAccessToken(user, late, { clock: now, maxLifetimeDays: 2 }).personalAccessTokens).toEqual([late])
  })

  it('are at most ten, for which expired ones make room', () => {
    const ten = repeated(10, (current, i) => addPersonalAccessToken(current, token({ tokenId: `token-${i}` }), YEAR))
    const late = new Date(after.getTime() + 1000)
    expect(codeOf(() => addPersonalAccessToken(ten, token({ tokenId: 'one more' }), YEAR))).toBe(
      'personal_access_token_limit_reached',
    )
    const one = token({ tokenId: 'later', createdAt: after, expiresAt: late })
    const later = addPersonalAccessToken(ten, one, { ...YEAR, clock: after })
    expect(later.personalAccessTokens.map(({ tokenId }) => tokenId)).toEqual(['later'])
  })
})
