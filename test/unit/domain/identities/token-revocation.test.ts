import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import { createServiceUser } from '../../../../src/domain/identities/service-user.ts'
import { isRevoked, revokeAllTokens, revokeToken } from '../../../../src/domain/identities/token-revocation.ts'
import { after } from '../../../../src/domain/time.ts'

const now = new Date('2030-01-01T12:00:00.400Z')
const facts = { userId: 'u', name: 'robot', projectId: 'p', projectName: 'billing', clientCredentialsEnabled: true }
const user = createServiceUser(facts, now)
const issued = (secondsAfter: number) => {
  return { tokenId: 'a', issuedAt: new Date(Math.floor(after(now, secondsAfter).getTime() / 1000) * 1000) }
}

describe('revoking one token', () => {
  const token = { tokenId: 'a', expiresAt: after(now, 60) }

  it('ends that token and no other', () => {
    const revoked = revokeToken(user, token, now)
    expect(isRevoked(issued(-10), revoked)).toBe(true)
    expect(isRevoked({ ...issued(-10), tokenId: 'b' }, revoked)).toBe(false)
    expect(isRevoked(issued(-10), user)).toBe(false)
  })

  it('changes nothing when it is revoked already, or has expired', () => {
    const revoked = revokeToken(user, token, now)
    expect(revokeToken(revoked, token, now)).toBe(revoked)
    expect(revokeToken(user, { ...token, expiresAt: now }, now)).toBe(user)
  })

  it('is possible for a hundred at a time, without those that have expired', () => {
    const tokens = Array.from({ length: 100 }, (_, i) => ({ tokenId: `${i}`, expiresAt: after(now, 1) }))
    const full = { ...user, revokedTokens: tokens }
    expect(() => revokeToken(full, token, now)).toThrow(DomainError)
    expect(() => revokeToken(full, token, now)).toThrow('100 tokens of the user are revoked')
    expect(revokeToken(full, token, after(now, 1)).revokedTokens).toContainEqual(token)
  })

  it('stays for a day after the expiry, so that a clock which was ahead for less forgets none', () => {
    const revoked = revokeToken(user, token, now)
    const ahead = after(now, 86_400)
    const other = { tokenId: 'c', expiresAt: after(ahead, 3600) }
    expect(isRevoked(issued(-10), revokeToken(revoked, other, ahead))).toBe(true)
    expect(revokeToken(revoked, other, after(token.expiresAt, 86_400)).revokedTokens).toEqual([other])
  })

  it('keeps a hundred of those that have expired, the latest', () => {
    const expired = Array.from({ length: 150 }, (_, i) => ({ tokenId: `${i}`, expiresAt: after(now, i - 200) }))
    const { revokedTokens } = revokeToken({ ...user, revokedTokens: expired }, token, now)
    expect(new Set(revokedTokens)).toEqual(new Set([token, ...expired.slice(50)]))
  })
})

describe('revoking all tokens of a user', () => {
  it('ends those that were issued until then, and leaves later ones', () => {
    const revoked = revokeAllTokens(user, now)
    for (const seconds of [-3600, -1, 0, 1]) expect(isRevoked(issued(seconds), revoked)).toBe(true)
    expect(isRevoked(issued(2), revoked)).toBe(false)
  })

  it('goes back behind no earlier time, and is a change each time', () => {
    const again = revokeAllTokens(revokeAllTokens(user, now), after(now, -600))
    expect(isRevoked(issued(-10), again)).toBe(true)
    expect(again.tokensRevokedAt).toEqual(after(now, 0.001))
  })

  it('goes back behind a time that is more than a day ahead, or the user could get no good token until then', () => {
    const ahead = revokeAllTokens(user, after(now, 86_401))
    expect(revokeAllTokens(ahead, now).tokensRevokedAt).toEqual(now)
    expect(revokeAllTokens(ahead, after(now, 1)).tokensRevokedAt).toEqual(after(now, 86_401.001))
  })

  it('forgets revocations of tokens that had expired by then, and no others: their tokens may be dated later', () => {
    const expired = { tokenId: 'expired', expiresAt: now }
    const dated = { tokenId: 'dated ahead', expiresAt: after(now, 0.001) }
    const revoked = revokeAllTokens({ ...user, revokedTokens: [expired, dated] }, now)
    expect(revoked.revokedTokens).toEqual([dated])
  })
})
