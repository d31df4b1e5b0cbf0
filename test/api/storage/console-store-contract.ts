/**
 * The part of the contract about `ConsoleStore`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { addLink, openSessionOf } from '../../../src/domain/console/sign-ins.ts'
import { createConsoleStore } from '../../../src/storage/console/console-store.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { seedSession } from '../../support/console-seed.ts'
import { TEST_INTEGRITY, TEST_MACS } from '../../support/integrity.ts'
import { seedProject, seedUser } from '../../support/seed.ts'

const MAC = 'its mac does not fit'
const { secrets } = TEST_INTEGRITY
const origin = { kind: 'personal_access_token', tokenId: 'token', expiresAt: new Date('2100-01-01') } as const

export function describeConsoleStore(current: () => Database): void {
  const store = () => createConsoleStore(current(), TEST_MACS)
  const sessions = () => store().listSessions({ after: null, limit: 10 })
  const newUser = async () => (await seedUser(current(), { project: await seedProject(current()) })).userId

  const ownEntry = (userId: string) => ({ ...anEntry('open'), authority: { kind: 'client', userId } as const })
  const newLink = (userId: string) => {
    const { hash } = secrets.signInCodes.generate()
    return store().change(ownEntry(userId), (signIns, clock) => {
      const { next, link } = addLink(signIns, { hash, origin }, clock)
      return { next, result: link }
    })
  }
  const newSession = (userId: string) => {
    const { hash } = secrets.sessionCookies.generate()
    const facts = { sessionId: randomUUID(), hash, clientAddress: '2001:db8::1', origin }
    return store().change(ownEntry(userId), (signIns, clock) => {
      const { next, session } = openSessionOf(signIns, { ...facts, clock })
      return { next, result: session }
    })
  }

  describe('links and sessions of the console', () => {
    it('are ten of a user, whatever others have, and those that have ended are deleted', async () => {
      const [userId, other] = [await newUser(), await newUser()]
      const theirs = await newSession(other)
      const age = { created: -60, expires: -1, lastUse: -60 }
      await seedSession({ database: current(), integrity: TEST_INTEGRITY }, other, age)
      let last: unknown
      for (let count = 0; count < 11; count += 1) last = await newSession(userId)
      const found = await store().listSessions({ after: null, limit: 100 })
      expect([found.length, found[0], found.at(-1)]).toEqual([11, theirs, last])
      expect(await current().db.selectFrom('console_sessions').selectAll().execute()).toHaveLength(11)
    })

    it.each([
      ['is deleted', null],
      ['is disabled', { enabled: false }],
    ])('do not begin when their user %s while a provider proves it', async (_, edit) => {
      const userId = await newUser()
      await newSession(userId)
      await createIdentityStore(current(), TEST_MACS).changeUser(userId, anEntry('change'), (user) => {
        return { next: edit === null ? null : { ...user!, ...edit }, result: null }
      })
      await expect(newSession(userId)).rejects.toMatchObject({ code: 'sign_in_not_allowed' })
      expect(await sessions()).toEqual([])
    })
  })

  describe('a row of the console that was written without the integrity key', () => {
    it.each([
      ['another user', (userId: string) => sql`user_id = ${userId}`],
      ['a later end', () => sql`expiration_date = expiration_date + interval '1 day'`],
      ['another origin', () => sql`origin = replace(origin, '"token"', '"other"')`],
    ])('is no session with %s', async (_, assignment) => {
      const { sessionId } = await newSession(await newUser())
      const kept = await newSession(await newUser())
      const { rows } = await sql<{ hash: Buffer; session_id: string }>`
        update console_sessions set ${assignment(await newUser())} where session_id = ${sessionId}
        returning hash, session_id`.execute(current().db)
      const unreadable = { name: 'UnreadableRow', kind: 'console_session', message: expect.stringContaining(MAC) }
      await expect(store().findSession(rows[0]!.hash)).rejects.toMatchObject(unreadable)
      await expect(store().findSession(rows[0]!.session_id)).rejects.toMatchObject(unreadable)
      const id = rows[0]!.session_id
      expect(await sessions()).toEqual([{ sessionId: id, createdAt: expect.any(Date) }, kept])
      const further = await newSession(await newUser())
      await store().endSession(anEntry('end'), id)
      expect(await sessions()).toEqual([kept, further])
    })

    it.each([
      ['another user', (userId: string) => sql`user_id = ${userId}`],
      ['a later end', () => sql`expiration_date = expiration_date + interval '1 day'`],
      ['another origin', () => sql`origin = replace(origin, '"token"', '"other"')`],
    ])('is no link with %s', async (_, assignment) => {
      await newLink(await newUser())
      await sql`update sign_in_links set ${assignment(await newUser())}`.execute(current().db)
      const { rows } = await sql<{ hash: Buffer }>`select hash from sign_in_links`.execute(current().db)
      const unreadable = { name: 'UnreadableRow', kind: 'sign_in_link', message: expect.stringContaining(MAC) }
      await expect(store().findLink(rows[0]!.hash)).rejects.toMatchObject(unreadable)
    })
  })
}
