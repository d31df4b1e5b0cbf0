import { describe, expect, it } from '@jest/globals'
import { DomainError, type DomainErrorCode } from '../../../../src/domain/errors.ts'
import {
  addCredential,
  assertTokenLifetime,
  type ClientSecret,
  credentialsOf,
  deactivateSecret,
  isLive,
  type PersonalAccessToken,
  removeCredential,
  type UserCredential,
  type UserKey,
} from '../../../../src/domain/identities/credential.ts'
import { createServiceUser, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'

const now = new Date('2030-01-01T00:00:00Z')
const before = new Date(now.getTime() - 1)
const after = new Date(now.getTime() + 1)

const secret = (changes: Partial<ClientSecret> = {}): ClientSecret => ({
  kind: 'client_secret',
  credentialId: 'secret-1',
  hash: new Uint8Array(32),
  createdAt: now,
  expiresAt: null,
  deactivatedAt: null,
  lastUsedAt: null,
  ...changes,
})

const key = (changes: Partial<UserKey> = {}): UserKey => ({
  kind: 'user_key',
  credentialId: 'key-1',
  publicJwk: { kty: 'OKP', crv: 'Ed25519', x: 'x' },
  createdAt: now,
  expiresAt: null,
  ...changes,
})

const token = (changes: Partial<PersonalAccessToken> = {}): PersonalAccessToken => ({
  kind: 'personal_access_token',
  credentialId: 'token-1',
  hash: new Uint8Array(32),
  createdAt: now,
  expiresAt: after,
  ...changes,
})

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

const idsOf = (credentials: readonly UserCredential[]) => credentials.map(({ credentialId }) => credentialId)

describe('the secrets of a user', () => {
  it('are at most ten that work', () => {
    const ten = repeated(10, (current, i) => addCredential(current, secret({ credentialId: `secret-${i}` }), now))
    const more = secret({ credentialId: 'one more' })
    expect(codeOf(() => addCredential(ten, more, now))).toBe('client_secret_limit_reached')
    const nine = deactivateSecret(ten, 'secret-0', now)
    expect(addCredential(nine, more, now).credentials).toHaveLength(11)
  })

  it('are at most a hundred, working or not', () => {
    const all = repeated(100, (current, i) => {
      const credentialId = `secret-${i}`
      return deactivateSecret(addCredential(current, secret({ credentialId }), now), credentialId, now)
    })
    const more = secret({ credentialId: 'one more' })
    expect(codeOf(() => addCredential(all, more, now))).toBe('client_secret_limit_reached')
  })
})

describe('the personal access tokens of a user', () => {
  it('live for so many days at most, with a minute for clocks that differ', () => {
    const day = 86_400_000
    const make = (days: number, millis = 0, maxLifetimeDays = 365) =>
      assertTokenLifetime(new Date(now.getTime() + days * day + millis), { clock: now, maxLifetimeDays })
    expect([codeOf(() => make(365)), codeOf(() => make(365, 60_000))]).toEqual([undefined, undefined])
    expect(codeOf(() => make(365, 60_001))).toBe('expiration_too_late')
    expect(codeOf(() => make(3650))).toBe('expiration_too_late')
    expect(() => make(2, 0, 1)).toThrow('at most 1 day after it is created')
  })

  it('are at most ten, for which expired ones make room', () => {
    const ten = repeated(10, (current, i) => addCredential(current, token({ credentialId: `token-${i}` }), now))
    const late = new Date(after.getTime() + 1000)
    expect(codeOf(() => addCredential(ten, token({ credentialId: 'one more' }), now))).toBe(
      'personal_access_token_limit_reached',
    )
    const one = token({ credentialId: 'later', createdAt: after, expiresAt: late })
    const withSecret = addCredential(ten, secret({ expiresAt: after }), now)
    expect(idsOf(addCredential(withSecret, one, after).credentials)).toEqual(['secret-1', 'later'])
  })
})

describe.each<[UserCredential, string]>([
  [secret(), 'client_secret'],
  [key(), 'user_key'],
  [token(), 'personal_access_token'],
  [{ ...key(), kind: 'client_certificate', match: 'san_dns', value: 'a.example' }, 'client_certificate'],
  [
    { ...key(), kind: 'federated_identity', issuerId: 'i', subject: 's', audience: null, claims: [] },
    'federated_identity',
  ],
])('a credential of the kind $kind', (credential, name) => {
  const { kind } = credential
  /** With another id, and another value for those that must differ. */
  const other = (id: string): UserCredential =>
    ({
      ...credential,
      credentialId: id,
      ...('value' in credential ? { value: `${id}.example` } : {}),
    }) as UserCredential

  it('is added and removed, and is found among those of its kind only', () => {
    const one = addCredential(addCredential(user, other('a'), now), other('b'), now)
    expect(idsOf(credentialsOf(one, kind))).toEqual(['a', 'b'])
    expect(idsOf(removeCredential(one, kind, 'a').credentials)).toEqual(['b'])
    expect(codeOf(() => removeCredential(one, kind, 'c'))).toBe(`${name}_not_found`)
    const wrong = kind === 'user_key' ? 'client_secret' : 'user_key'
    expect(codeOf(() => removeCredential(one, wrong, 'a'))).toBe(`${wrong}_not_found`)
  })

  it('has nine others at most, and cannot have expired before it begins', () => {
    const ten = repeated(10, (current, i) => addCredential(current, other(`c${i}`), now))
    expect(codeOf(() => addCredential(ten, other('one more'), now))).toBe(`${name}_limit_reached`)
    const expired = { ...credential, expiresAt: now }
    expect(codeOf(() => addCredential(user, expired, now))).toBe('expiration_in_past')
  })
})

it('a client certificate is refused if the user has an equal one', () => {
  const certificate = { ...key(), kind: 'client_certificate', match: 'san_dns', value: 'a.example' } as const
  const one = addCredential(user, certificate, now)
  const again = () => addCredential(one, { ...certificate, credentialId: 'again' }, now)
  expect(codeOf(again)).toBe('client_certificate_invalid')
  expect(addCredential(one, { ...certificate, credentialId: 'b', match: 'san_uri' }, now).credentials).toHaveLength(2)
})
