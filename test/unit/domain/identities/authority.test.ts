import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import {
  type AuthorityFacts,
  assertAuthorized,
  type CallingUser,
  type Credential,
  type UserAuthority,
} from '../../../../src/domain/identities/authority.ts'
import { WHOLE_INSTANCE } from '../../../../src/domain/identities/reach.ts'

const now = new Date('2026-11-01T12:00:00.000Z')
const after = (milliseconds: number) => new Date(now.getTime() + milliseconds)

const owner: CallingUser = {
  userId: 'somebody',
  managedProjects: new Map(),
  enabled: true,
  instanceRoles: ['IAM_OWNER'],
  credentials: [
    { kind: 'personal_access_token', credentialId: 'other', expiresAt: after(-1) },
    { kind: 'personal_access_token', credentialId: 'token', expiresAt: after(1) },
  ],
  tokensRevokedAt: null,
  revokedTokens: [{ tokenId: 'another' }],
}
const ring = [{ keyId: 'newer' }, { keyId: 'key' }]

const withAccessToken: Credential = {
  kind: 'access_token',
  keyId: 'key',
  tokenId: 'jti',
  expiresAt: after(1),
}
const withPersonalAccessToken: Credential = { kind: 'personal_access_token', tokenId: 'token', expiresAt: after(1) }
const withSession: Credential = { kind: 'console_session', sessionId: '', origin: { kind: 'openid_provider' } }
const session = { expiresAt: after(1), lastUsedAt: now }

const authority = (credential: Credential, permission: UserAuthority['permission']): UserAuthority => {
  return { kind: 'user', userId: 'somebody', permission, reach: WHOLE_INSTANCE, credential }
}

/** What comes of a check: `holds`, or the code of the refusal. */
function outcomeOf(held: UserAuthority, facts: Partial<AuthorityFacts>): string {
  try {
    assertAuthorized(held, { user: owner, ring, now, session, ...facts })
    return 'holds'
  } catch (error) {
    if (error instanceof DomainError) return error.code
    throw error
  }
}

describe.each([
  ['an access token', withAccessToken, 'token_invalid'],
  ['a personal access token', withPersonalAccessToken, 'token_invalid'],
  ['a session of the console', withSession, 'console_session_invalid'],
])('the right of a caller with %s', (_, credential, ended) => {
  const right = authority(credential, 'iam.user.credential.write')

  it('holds while the user is there, enabled and has a role that includes the permission', () => {
    expect(outcomeOf(right, {})).toBe('holds')
    expect(outcomeOf(right, { user: { ...owner, instanceRoles: ['IAM_OWNER_VIEWER', 'IAM_OWNER'] } })).toBe('holds')
  })

  it.each([
    ['the user has been deleted', { user: undefined }, ended],
    ['the user has been disabled', { user: { ...owner, enabled: false } }, ended],
    ['every role has been taken away', { user: { ...owner, instanceRoles: [] } }, 'permission_missing'],
    ['only a lesser role is left', { user: { ...owner, instanceRoles: ['IAM_OWNER_VIEWER'] } }, 'permission_missing'],
  ] as const)('is lost once %s', (_, facts, code) => {
    expect(outcomeOf(right, facts)).toBe(code)
  })
})

describe('the right of a caller with an access token', () => {
  const right = authority(withAccessToken, 'iam.web_key.write')

  it('is lost once its web key has been revoked or deleted', () => {
    expect(outcomeOf(right, { ring: [{ keyId: 'newer' }] })).toBe('token_invalid')
    expect(outcomeOf(right, { ring: [] })).toBe('token_invalid')
  })

  it('is lost in the moment in which the token expires, and not before', () => {
    expect(outcomeOf(right, { now: after(0) })).toBe('holds')
    expect(outcomeOf(right, { now: after(1) })).toBe('token_invalid')
  })

  it('is lost once the token, or all tokens so far, have been revoked', () => {
    expect(outcomeOf(right, { user: { ...owner, revokedTokens: [{ tokenId: 'jti' }] } })).toBe('token_invalid')
    expect(outcomeOf(right, { user: { ...owner, tokensRevokedAt: now } })).toBe('token_invalid')
  })
})

describe('the right of a caller with a personal access token', () => {
  const right = authority(withPersonalAccessToken, 'iam.web_key.write')

  it('is lost once the token has been revoked, whatever others there are', () => {
    const credentials = [
      { kind: 'personal_access_token', credentialId: 'other', expiresAt: after(1) },
      { kind: 'user_key', credentialId: 'token', expiresAt: after(1) },
    ] as const
    expect(outcomeOf(right, { user: { ...owner, credentials } })).toBe('token_invalid')
  })

  it('is lost in the moment in which the token expires, and not before', () => {
    expect(outcomeOf(right, { now: after(0) })).toBe('holds')
    expect(outcomeOf(right, { now: after(1) })).toBe('token_invalid')
  })
})
