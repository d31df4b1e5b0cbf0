import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  addLink,
  type ConsoleSession,
  endSession,
  openSession,
  openSessionOf,
  type SignIns,
} from '../../../../src/domain/console/sign-ins.ts'
import { isOpen } from '../../../../src/domain/identities/authority.ts'

const NOW = new Date('2026-11-23T12:00:00Z')
const ORIGIN = { kind: 'openid_provider' } as const
/** Users `a` and `b` and numbers are in a project of their own; `p1` and the like are in project `p`; `owner` has a role over the instance. */
const users: SignIns['users'] = {
  get: (userId: string) => ({
    enabled: true,
    projectId: userId.startsWith('p') ? 'p' : userId,
    instanceRoles: userId.startsWith('owner') ? ['IAM_OWNER'] : [],
  }),
} as never
const NONE: SignIns = { links: [], sessions: [], unreadable: [], users }
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const newHash = () => new Uint8Array(randomBytes(32))

function session(userId: string, edit: Partial<ConsoleSession> = {}): ConsoleSession {
  const dates = { createdAt: NOW, expiresAt: at(28_800), lastUsedAt: NOW }
  return { sessionId: randomUUID(), userId, origin: ORIGIN, hash: newHash(), clientAddress: '', ...dates, ...edit }
}

/** Opens a session of a user with a new link. */
function signIn(signIns: SignIns, userId: string, clock = NOW) {
  const { next, link } = addLink(signIns, { hash: newHash(), userId, origin: ORIGIN }, clock)
  return openSession(next, link.hash, { sessionId: randomUUID(), hash: newHash(), clientAddress: '', clock })
}

describe('a sign-in link', () => {
  it('works until its minute is over, and once', () => {
    const { next, link } = addLink(NONE, { hash: newHash(), userId: 'a', origin: ORIGIN }, NOW)
    const open = (signIns: SignIns, seconds: number) =>
      openSession(signIns, link.hash, { sessionId: 's', hash: newHash(), clientAddress: '', clock: at(seconds) })
    expect(open(next, 59).session).toMatchObject({ userId: 'a', createdAt: at(59), expiresAt: at(59 + 28_800) })
    expect(() => open(next, 60)).toThrow('the sign-in link is not valid')
    expect(() => open(open(next, 0).next, 1)).toThrow('the sign-in link is not valid')
  })

  it('replaces the oldest one of ten of its user, and none of another user', () => {
    let signIns = addLink(NONE, { hash: newHash(), userId: 'b', origin: ORIGIN }, NOW).next
    const links = Array.from({ length: 11 }, (_, index) => {
      const { next, link } = addLink(signIns, { hash: newHash(), userId: 'a', origin: ORIGIN }, at(index))
      signIns = next
      return link
    })
    expect(signIns.links.filter(({ userId }) => userId === 'a')).toEqual(links.slice(1))
    expect(signIns.links.filter(({ userId }) => userId === 'b')).toHaveLength(1)
  })

  it('is refused where a thousand are open, until they expire', () => {
    const one = (index: number) => {
      return { hash: newHash(), userId: `${index}`, origin: ORIGIN, createdAt: NOW, expiresAt: at(60) }
    }
    const full = { ...NONE, links: Array.from({ length: 1000 }, (_, index) => one(index)) }
    const add = (seconds: number) => addLink(full, { hash: newHash(), userId: 'a', origin: ORIGIN }, at(seconds))
    expect(() => add(59)).toThrow(expect.objectContaining({ code: 'console_limit_reached' }))
    expect(add(60).next.links).toHaveLength(1)
  })
})

describe('a session', () => {
  it.each([{ enabled: false }, undefined])('is not opened for a user like %j', (user) => {
    const facts = { userId: 'a', origin: ORIGIN, sessionId: 's', hash: newHash(), clientAddress: '', clock: NOW }
    const found = { ...NONE, users: { get: () => user } as never }
    expect(() => openSessionOf(found, facts)).toThrow('you may not sign in here')
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
    expect(isOpen(session('a', edit), at(seconds))).toBe(expected)
  })

  it('replaces the one of ten of its user that has been idle longest, and says which', () => {
    const idle = session('a', { lastUsedAt: at(-100) })
    const others = Array.from({ length: 9 }, (_, index) => session('a', { lastUsedAt: at(-index) }))
    const theirs = session('b', { lastUsedAt: at(-1000) })
    const before = { ...NONE, sessions: [theirs, others[0]!, idle, ...others.slice(1)] }
    const { next, session: opened, replaced } = signIn(before, 'a')
    expect(replaced).toEqual([idle])
    expect(new Set(next.sessions)).toEqual(new Set([theirs, ...others, opened]))
  })

  it('of a user of a project replaces the one of a hundred of its users that has been idle longest, and none of others', () => {
    const others = Array.from({ length: 890 }, (_, index) => session(`${index}`, { lastUsedAt: at(-1000) }))
    const ofProject = Array.from({ length: 100 }, (_, index) => session(`p${index}`, { lastUsedAt: at(-index) }))
    const { next, replaced } = signIn({ ...NONE, sessions: [...others, ...ofProject] }, 'pq')
    expect(replaced).toEqual([ofProject[99]])
    expect(next.sessions.filter(({ userId }) => userId.startsWith('p'))).toHaveLength(100)
  })

  it('of a user with a role over the instance finds room, whatever others have, and among its like', () => {
    const others = Array.from({ length: 1000 }, (_, index) => session(`${index}`))
    const full = { ...NONE, sessions: others, links: others.map((one) => ({ ...one, expiresAt: at(60) })) }
    expect(signIn(full, 'owner').replaced).toEqual([])
    const owners = Array.from({ length: 1000 }, (_, index) => session(`owner${index}`, { lastUsedAt: at(-index) }))
    expect(signIn({ ...NONE, sessions: [...others, ...owners] }, 'owner').replaced).toEqual([owners[999]])
    expect(signIn({ ...NONE, sessions: owners }, 'a').replaced).toEqual([])
  })

  it('ends no later than what it came from, and so does its link', () => {
    const origin = { kind: 'personal_access_token', tokenId: 'token', expiresAt: at(30) } as const
    const { next, link } = addLink(NONE, { hash: newHash(), userId: 'a', origin }, NOW)
    expect(link.expiresAt).toEqual(at(30))
    const facts = { sessionId: 's', hash: newHash(), clientAddress: '', clock: at(29) }
    expect(openSession(next, link.hash, facts).session).toMatchObject({ origin, expiresAt: at(30) })
  })

  it('ends once', () => {
    const { next, session: opened } = signIn(NONE, 'a')
    const ended = endSession(next, opened.sessionId, NOW)
    expect(ended.sessions).toEqual([])
    for (const [signIns, seconds] of [
      [ended, 0],
      [next, 28_800],
    ] as const) {
      expect(() => endSession(signIns, opened.sessionId, at(seconds))).toThrow(
        expect.objectContaining({ code: 'console_session_not_found' }),
      )
    }
  })

  it('that cannot be read stays until it is ended, and takes the place of none', () => {
    const [lost, other] = [{ sessionId: randomUUID() }, { sessionId: randomUUID() }]
    const full = Array.from({ length: 999 }, (_, index) => session(`${index}`))
    const { next } = signIn({ ...NONE, sessions: full, unreadable: [lost, other] }, 'a')
    expect(next.unreadable).toEqual([lost, other])
    const ended = endSession(next, lost.sessionId, NOW)
    expect(ended).toEqual({ ...next, unreadable: [other] })
    expect(() => endSession(ended, lost.sessionId, NOW)).toThrow(
      expect.objectContaining({ code: 'console_session_not_found' }),
    )
  })
})
