import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  addLink,
  assertEndable,
  type ConsoleSession,
  openSession,
  openSessionOf,
  type SignIns,
} from '../../../../src/domain/console/sign-ins.ts'
import { isOpen } from '../../../../src/domain/identities/authority.ts'

const NOW = new Date('2026-11-23T12:00:00Z')
const ORIGIN = { kind: 'openid_provider' } as const
const NONE: SignIns = { userId: 'a', isEnabled: true, links: [], sessions: [] }
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const newHash = () => new Uint8Array(randomBytes(32))

function session(edit: Partial<ConsoleSession> = {}): ConsoleSession {
  const dates = { createdAt: NOW, expiresAt: at(28_800), lastUsedAt: NOW }
  return { sessionId: randomUUID(), userId: 'a', origin: ORIGIN, hash: newHash(), clientAddress: '', ...dates, ...edit }
}

const factsOf = (seconds: number) => ({ sessionId: 's', hash: newHash(), clientAddress: '', clock: at(seconds) })

describe('a sign-in link', () => {
  it('works until its minute is over, and once', () => {
    const { next, link } = addLink(NONE, { hash: newHash(), origin: ORIGIN }, NOW)
    const open = (signIns: SignIns, seconds: number) => openSession(signIns, link.hash, factsOf(seconds))
    expect(open(next, 59).session).toMatchObject({ userId: 'a', createdAt: at(59), expiresAt: at(59 + 28_800) })
    expect(() => open(next, 60)).toThrow('the sign-in link is not valid')
    expect(() => open(open(next, 0).next, 1)).toThrow('the sign-in link is not valid')
  })

  it('replaces the oldest one of ten of its user', () => {
    let signIns = NONE
    const links = Array.from({ length: 11 }, (_, index) => {
      const { next, link } = addLink(signIns, { hash: newHash(), origin: ORIGIN }, at(index))
      signIns = next
      return link
    })
    expect(signIns.links).toEqual(links.slice(1))
  })
})

describe('a session', () => {
  it('is not opened for a user who is disabled or deleted', () => {
    const facts = { ...factsOf(0), origin: ORIGIN }
    expect(() => openSessionOf({ ...NONE, isEnabled: false }, facts)).toThrow('you may not sign in here')
    expect(openSessionOf(NONE, facts).session).toMatchObject({ userId: 'a' })
  })

  it.each([
    ['in use', {}, 0, true],
    ['29 minutes idle', {}, 29 * 60, true],
    ['30 minutes idle', {}, 30 * 60, false],
    ['in use to its end', { lastUsedAt: at(28_799) }, 28_799, true],
    ['in use after its end', { lastUsedAt: at(28_800) }, 28_800, false],
    ['with a date that is none', { lastUsedAt: new Date(Number.NaN) }, 0, false],
  ])('%s', (_, edit, seconds, expected) => {
    expect(isOpen(session(edit), at(seconds))).toBe(expected)
  })

  it('replaces the one of ten of its user that has been idle longest, and says which', () => {
    const idle = session({ lastUsedAt: at(-100) })
    const others = Array.from({ length: 9 }, (_, index) => session({ lastUsedAt: at(-index) }))
    const before = { ...NONE, sessions: [others[0]!, idle, ...others.slice(1)] }
    const { next, session: opened, replaced } = openSessionOf(before, { ...factsOf(0), origin: ORIGIN })
    expect(replaced).toEqual([idle])
    expect(new Set(next.sessions)).toEqual(new Set([...others, opened]))
  })

  it('ends no later than what it came from, and so does its link', () => {
    const origin = { kind: 'personal_access_token', tokenId: 'token', expiresAt: at(30) } as const
    const { next, link } = addLink(NONE, { hash: newHash(), origin }, NOW)
    expect(link.expiresAt).toEqual(at(30))
    expect(openSession(next, link.hash, factsOf(29)).session).toMatchObject({ origin, expiresAt: at(30) })
  })

  it('ends once, whether it can be read or not', () => {
    const refusal = expect.objectContaining({ code: 'console_session_not_found' })
    expect(() => assertEndable(session(), at(28_800))).toThrow(refusal)
    expect(() => assertEndable(undefined, NOW)).toThrow(refusal)
    for (const one of [session(), { sessionId: randomUUID(), createdAt: NOW }])
      expect(() => assertEndable(one, NOW)).not.toThrow()
  })
})
