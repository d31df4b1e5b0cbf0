import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import { createServiceUser } from '../../../../src/domain/identities/service-user.ts'
import {
  isRevoked,
  revokeAllTokens,
  revokeToken,
  tokenIdOf,
} from '../../../../src/domain/identities/token-revocation.ts'
import { after } from '../../../../src/domain/time.ts'

const now = new Date('2030-01-01T12:00:00.400Z')
const facts = { userId: 'u', name: 'robot', projectId: 'p', projectName: 'billing', clientCredentialsEnabled: true }
const user = createServiceUser(facts, now)

describe('revoking one token', () => {
  const token = { tokenId: 'a', expiresAt: after(now, 60) }

  it('ends that token and no other', () => {
    const revoked = revokeToken(user, token, now)
    expect(isRevoked('a', revoked)).toBe(true)
    expect(isRevoked('b', revoked)).toBe(false)
    expect(isRevoked('a', user)).toBe(false)
  })

  it('changes nothing when it is revoked already, or has expired', () => {
    const revoked = revokeToken(user, token, now)
    expect(revokeToken(revoked, token, now)).toBe(revoked)
    expect(revokeToken(user, { ...token, expiresAt: after(now, -30) }, now)).toBe(user)
  })

  it('is possible for a hundred at a time, without those that have expired by the clock of every replica', () => {
    const tokens = Array.from({ length: 100 }, (_, i) => ({ tokenId: `${i}`, expiresAt: after(now, 1) }))
    const full = { ...user, revokedTokens: tokens }
    expect(() => revokeToken(full, token, now)).toThrow(DomainError)
    expect(() => revokeToken(full, token, now)).toThrow('100 tokens of the user are revoked')
    expect(() => revokeToken(full, token, after(now, 30))).toThrow(DomainError)
    expect(revokeToken(full, token, after(now, 31)).revokedTokens).toEqual([token])
  })
})

describe('revoking all tokens of a user', () => {
  const first = revokeAllTokens(user, now)

  it('ends those that were issued by whoever has not heard of it, and leaves later ones', () => {
    const [before, later] = [tokenIdOf(user, 'x'), tokenIdOf(first, 'x')]
    expect([before, later].map((id) => isRevoked(id, user))).toEqual([false, false])
    expect([before, later].map((id) => isRevoked(id, first))).toEqual([true, false])
  })

  it('is a change each time, also when the clock has gone back', () => {
    const again = revokeAllTokens(first, after(now, -600))
    expect(again.tokensRevokedAt).toEqual(after(now, 0.001))
    expect(isRevoked(tokenIdOf(first, 'x'), again)).toBe(true)
  })

  it('ends a token with an id that was not made here', () => {
    for (const id of ['', '.', '~', '-1.x']) expect([id, isRevoked(id, user)]).toEqual([id, true])
  })

  it('forgets revocations of single tokens, which are revoked by it too', () => {
    const token = { tokenId: tokenIdOf(user, 'x'), expiresAt: after(now, 60) }
    const revoked = revokeAllTokens(revokeToken(user, token, now), now)
    expect(revoked.revokedTokens).toEqual([])
    expect(isRevoked(token.tokenId, revoked)).toBe(true)
  })
})
