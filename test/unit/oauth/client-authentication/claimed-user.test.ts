import { describe, expect, it } from '@jest/globals'
import type { ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import { ClaimedUser } from '../../../../src/oauth/client-authentication/claimed-user.ts'

const NOW = new Date('2030-01-01T12:00:00Z')

/** A user with live keys of these ids. */
function withKeys(...keyIds: string[]): ServiceUser {
  const credentials = keyIds.map((credentialId) => ({ kind: 'user_key', credentialId, expiresAt: null }))
  return { enabled: true, credentials } as unknown as ServiceUser
}

describe('a claimed user', () => {
  it.each([
    [['a'], true],
    [['a', 'b'], true],
    [['a', 'gone'], false],
    [[], false],
  ])('with the keys a and b, whose request proved the keys %j: %j', (credentialIds, proved) => {
    const user = new ClaimedUser('billing', withKeys('a', 'b'), null)
    user.proof = { kind: 'private_key_jwt', credentialIds }
    expect(user.isProvedFor(user.proved, NOW)).toBe(proved)
  })
})
