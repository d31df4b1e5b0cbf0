/**
 * The part of the contract about `ConsoleStore`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { addLink, endSession, openSession, openSessionOf } from '../../../src/domain/console/sign-ins.ts'
import { createConsoleStore } from '../../../src/storage/console/console-store.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { secondsSinceUse, seedSession } from '../../support/console-seed.ts'
import { TEST_INTEGRITY, TEST_MACS } from '../../support/integrity.ts'
import { seedProject, seedUser } from '../../support/seed.ts'

const MAC = 'its mac does not fit'
const secrets = TEST_INTEGRITY.console
const origin = { kind: 'personal_access_token', tokenId: 'token', expiresAt: new Date('2100-01-01') } as const

export function describeConsoleStore(current: () => Database): void {
  const store = () => createConsoleStore(current(), secrets)
  const newUser = async () => (await seedUser(current(), { project: await seedProject(current()) })).userId

  const newLink = async (userId: string) => {
    const { hash } = secrets.generateCode()
    return store().change(anEntry('link'), (signIns, clock) => {
      const { next, link } = addLink(signIns, { hash, userId, origin }, clock)
      return { next, result: link }
    })
  }
  const newSession = async (userId: string) => {
    const link = await newLink(userId)
    const facts = { sessionId: randomUUID(), hash: secrets.generateCookie().hash, clientAddress: '2001:db8::1' }
    return store().change(anEntry('open'), (signIns, clock) => {
      const { next, session } = openSession(signIns, link.hash, { ...facts, clock })
      return { next, result: session }
    })
  }

  describe('links and sessions of the console', () => {
    it('are found as they were stored, by their hashes, and a session by its id', async () => {
      const userId = await newUser()
      const link = await newLink(userId)
      expect(await store().findLink(link.hash)).toEqual({ link, clock: expect.any(Date) })
      const session = await newSession(userId)
      const found = { session, clock: expect.any(Date) }
      expect(await store().findSession(session.hash)).toEqual(found)
      expect(await store().findSession(session.sessionId)).toEqual(found)
      expect((await store().listSessions()).sessions).toEqual([session])
      expect(await store().findSession(randomUUID())).toBeUndefined()
      expect(await store().findLink(secrets.generateCode().hash)).toBeUndefined()
    })

    it('are gone once they are used up or ended', async () => {
      const session = await newSession(await newUser())
      const { rows } = await sql`select 1 from sign_in_links`.execute(current().db)
      expect(rows).toEqual([])
      const end = () =>
        store().change(anEntry('end'), (signIns, clock) => {
          return { next: endSession(signIns, session.sessionId, clock), result: null }
        })
      await end()
      expect(await store().findSession(session.sessionId)).toBeUndefined()
      await expect(end()).rejects.toMatchObject({ code: 'console_session_not_found' })
    })

    it.each([
      ['is deleted', null],
      ['is disabled', { enabled: false }],
      ['loses all tokens', { tokensRevokedAt: new Date(0) }],
    ])('end when their user %s', async (_, edit) => {
      const [userId, other] = [await newUser(), await newUser()]
      await newSession(userId)
      await newLink(userId)
      const kept = await newSession(other)
      await createIdentityStore(current(), TEST_MACS).changeUser(userId, anEntry('change'), (user) => {
        return { next: edit === null ? null : { ...user!, ...edit }, result: null }
      })
      expect((await store().listSessions()).sessions).toEqual([kept])
      const { rows } = await sql`select 1 from sign_in_links`.execute(current().db)
      expect(rows).toEqual([])
    })

    it.each([
      ['is deleted', null],
      ['is disabled', { enabled: false }],
    ])('do not begin when their user %s while a provider proves it', async (_, edit) => {
      const userId = await newUser()
      const entry = { ...anEntry('open'), authority: { kind: 'client', userId } as const }
      const open = () => {
        const facts = {
          sessionId: randomUUID(),
          hash: secrets.generateCookie().hash,
          clientAddress: '',
          userId,
          origin,
        }
        return store().change(entry, (signIns, clock) => {
          const { next, session } = openSessionOf(signIns, { ...facts, clock })
          return { next, result: session }
        })
      }
      await open()
      await createIdentityStore(current(), TEST_MACS).changeUser(userId, anEntry('change'), (user) => {
        return { next: edit === null ? null : { ...user!, ...edit }, result: null }
      })
      await expect(open()).rejects.toMatchObject({ code: 'sign_in_not_allowed' })
      expect((await store().listSessions()).sessions).toEqual([])
    })

    it('are marked as used once a minute, without a change of the instance', async () => {
      const database = current()
      const version = async () =>
        (await database.db.selectFrom('instance').select('version').executeTakeFirst())?.version
      const age = { created: -600, expires: 600, lastUse: -61 }
      const { sessionId } = await seedSession({ database, integrity: TEST_INTEGRITY }, await newUser(), age)
      const before = await version()
      await store().recordUse(sessionId)
      expect(await secondsSinceUse({ database }, sessionId)).toBeLessThan(50)
      await sql`update console_sessions set last_use_date = clock_timestamp() - interval '55 s'`.execute(database.db)
      await store().recordUse(sessionId)
      expect(await secondsSinceUse({ database }, sessionId)).toBeGreaterThanOrEqual(55)
      expect(await version()).toBe(before)
    })
  })

  describe('a row of the console that was written without the integrity key', () => {
    it.each([
      ['another user', (userId: string) => sql`user_id = ${userId}`],
      ['another cookie', () => sql`hash = ${secrets.generateCookie().hash}`],
      ['a later end', () => sql`expiration_date = expiration_date + interval '1 day'`],
      ['another beginning', () => sql`creation_date = creation_date - interval '1 s'`],
      ['another address', () => sql`client_address = '192.0.2.9'`],
      ['another id', () => sql`session_id = ${randomUUID()}`],
      ['another origin', () => sql`origin = '{"kind":"openid_provider"}'`],
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
      const clock = expect.any(Date)
      expect(await store().listSessions()).toEqual({ sessions: [kept], unreadable: [{ sessionId: id }], clock })
      const further = await newSession(await newUser())
      await store().change(anEntry('end'), (signIns, clock) => ({ next: endSession(signIns, id, clock), result: null }))
      expect(await store().listSessions()).toEqual({ sessions: [kept, further], unreadable: [], clock })
    })

    it.each([
      ['another user', (userId: string) => sql`user_id = ${userId}`],
      ['another code', () => sql`hash = ${secrets.generateCode().hash}`],
      ['a later end', () => sql`expiration_date = expiration_date + interval '1 day'`],
      ['another beginning', () => sql`creation_date = creation_date - interval '1 s'`],
      ['another origin', () => sql`origin = '{"kind":"openid_provider"}'`],
    ])('is no link with %s', async (_, assignment) => {
      await newLink(await newUser())
      await sql`update sign_in_links set ${assignment(await newUser())}`.execute(current().db)
      const { rows } = await sql<{ hash: Buffer }>`select hash from sign_in_links`.execute(current().db)
      const unreadable = { name: 'UnreadableRow', kind: 'sign_in_link', message: expect.stringContaining(MAC) }
      await expect(store().findLink(rows[0]!.hash)).rejects.toMatchObject(unreadable)
      await expect(newLink(await newUser())).rejects.toMatchObject(unreadable)
    })

    it('is no session with the code of a link, nor a link with the code of a session', async () => {
      const link = await newLink(await newUser())
      const session = { ...link, sessionId: randomUUID(), clientAddress: '' }
      expect(() => secrets.assertSession(session, secrets.ofLink(link))).toThrow(MAC)
      expect(() => secrets.assertLink(link, secrets.ofSession(session))).toThrow(MAC)
    })
  })
}
