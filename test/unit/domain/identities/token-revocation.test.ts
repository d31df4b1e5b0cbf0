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
    expect(revokeToken(full, token, after(now, 1)).revokedTokens).toEqual([token])
  })
})

describe('revoking all tokens of a user', () => {
  it('ends those that were issued until then, and leaves later ones', () => {
    const revoked = revokeAllTokens(revokeToken(user, { tokenId: 'b', expiresAt: after(now, 60) }, now), now)
    expect(revoked.revokedTokens).toEqual([])
    for (const seconds of [-3600, -1, 0, 1]) expect(isRevoked(issued(seconds), revoked)).toBe(true)
    expect(isRevoked(issued(2), revoked)).toBe(false)
  })
})
