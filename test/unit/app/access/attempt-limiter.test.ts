import { describe, expect, it } from '@jest/globals'
import { AttemptLimiter, type AttemptLimiterOptions } from '../../../../src/app/access/attempt-limiter.ts'

const CLIENT = { name: '0b6e2f5c-9a3d-4a57-8f65-0f8f0a4f8f11@billing', address: '192.0.2.1' }

/** A limiter of 3 failures a minute for a client, 5 for an address, and the clock that it reads. */
function limiterAt(options: Partial<AttemptLimiterOptions> = {}) {
  const clock = { now: 1_000_000, monotonic: () => clock.now }
  const limiter = new AttemptLimiter({ clock, maxPerName: 3, maxPerAddress: 5, ...options })
  const fail = (times: number, attempt = CLIENT) => {
    for (let i = 0; i < times; i += 1) limiter.fail(attempt)
  }
  return { clock, limiter, fail }
}

describe('limiting failed authentications of a client', () => {
  it('blocks it after as many failures as it may have', () => {
    const { limiter, fail } = limiterAt()
    fail(2)
    expect(limiter.blockedForSeconds(CLIENT)).toBe(0)
    fail(1)
    expect(limiter.blockedForSeconds(CLIENT)).toBe(60)
  })

  it('does not block it at another address, nor another client at this one', () => {
    const { limiter, fail } = limiterAt()
    fail(3)
    expect(limiter.blockedForSeconds({ ...CLIENT, address: '192.0.2.2' })).toBe(0)
    expect(limiter.blockedForSeconds({ ...CLIENT, name: 'another' })).toBe(0)
  })

  it('lets it try again when a minute has passed since its first failure, with a new count', () => {
    const { clock, limiter, fail } = limiterAt()
    fail(1)
    clock.now += 40_000
    fail(2)
    expect(limiter.blockedForSeconds(CLIENT)).toBe(20)
    clock.now += 19_999
    expect(limiter.blockedForSeconds(CLIENT)).toBe(1)
    clock.now += 2
    expect(limiter.blockedForSeconds(CLIENT)).toBe(0)
    fail(2)
    expect(limiter.blockedForSeconds(CLIENT)).toBe(0)
    fail(1)
    expect(limiter.blockedForSeconds(CLIENT)).toBe(60)
  })

  it('counts attempts that could not be judged for the client and not for the address', () => {
    const { limiter } = limiterAt()
    for (const name of ['a', 'b', 'c']) {
      for (let i = 0; i < 3; i += 1) limiter.failName({ ...CLIENT, name })
      expect(limiter.blockedForSeconds({ ...CLIENT, name })).toBe(60)
    }
    expect(limiter.blockedForSeconds(CLIENT)).toBe(0)
  })

  it('allows by default 100 failures a minute for a client and 1000 for an address', () => {
    const limiter = new AttemptLimiter({ clock: { monotonic: () => 0 } })
    const failures = (attempt: (i: number) => typeof CLIENT) => {
      for (let i = 0; ; i += 1) {
        if (limiter.blockedForSeconds(attempt(i)) > 0) return i
        limiter.fail(attempt(i))
      }
    }
    expect(failures(() => CLIENT)).toBe(100)
    expect(failures((i) => ({ name: `client-${i}`, address: '192.0.2.9' }))).toBe(1000)
  })
})

describe('limiting failed authentications of an address', () => {
  it('blocks all its clients, whatever they are called', () => {
    const { limiter } = limiterAt()
    for (let i = 0; i < 5; i += 1) limiter.fail({ ...CLIENT, name: `client-${i}` })
    expect(limiter.blockedForSeconds(CLIENT)).toBe(60)
    expect(limiter.blockedForSeconds({ ...CLIENT, address: '192.0.2.2' })).toBe(0)
  })

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['2001:DB8:1:2::1', '2001:0db8:0001:0002::2', true],
    ['2001:db8::1', '2001:db8:0:0:5::', true],
    ['::1', '::2', true],
    ['fe80::1%eth0', 'fe80::2%eth1', true],
    ['::ffff:192.0.2.7', '192.0.2.7', true],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.8', false],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['1::', '::1', false],
    ['192.0.2.7', '192.0.2.8', false],
    ['', '192.0.2.8', false],
  ])('counts %j and %j as one: %j', (one, other, same) => {
    const { limiter, fail } = limiterAt()
    fail(5, { ...CLIENT, address: one })
    expect(limiter.blockedForSeconds({ name: 'another', address: other }) > 0).toBe(same)
  })
})
