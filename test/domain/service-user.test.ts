import { describe, expect, it } from '@jest/globals'
import { type ClientSecret, isLive } from '../../src/domain/service-user.ts'

const now = new Date('2030-01-01T00:00:00Z')
const before = new Date(now.getTime() - 1)
const after = new Date(now.getTime() + 1)

const secret = (dates: Partial<ClientSecret>): ClientSecret => ({
  secretId: 'secret-1',
  hash: new Uint8Array(32),
  expiresAt: null,
  deactivatedAt: null,
  ...dates,
})

describe('a client secret', () => {
  it('is live for ever if it has no dates', () => {
    expect(isLive(secret({}), now)).toBe(true)
  })

  it.each([
    ['before its expiry', after, true],
    ['at its expiry', now, false],
    ['after its expiry', before, false],
  ])('%s: live is %3$s [Spec §7]', (_, expiresAt, live) => {
    expect(isLive(secret({ expiresAt }), now)).toBe(live)
  })

  it.each([
    ['before its deactivation', after, true],
    ['at its deactivation', now, false],
    ['after its deactivation', before, false],
  ])('%s: live is %3$s [Spec §7]', (_, deactivatedAt, live) => {
    expect(isLive(secret({ deactivatedAt }), now)).toBe(live)
  })

  it('is dead by the first of its dates', () => {
    expect(isLive(secret({ expiresAt: after, deactivatedAt: before }), now)).toBe(false)
    expect(isLive(secret({ expiresAt: before, deactivatedAt: after }), now)).toBe(false)
    expect(isLive(secret({ expiresAt: after, deactivatedAt: after }), now)).toBe(true)
  })
})
