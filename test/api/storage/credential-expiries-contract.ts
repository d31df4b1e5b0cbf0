/**
 * The part of the contract about `CredentialExpiries`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createCredentialExpiries } from '../../../src/storage/identities/credential-expiries.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { type SeededUser, seedProject, seedSecret, seedUser } from '../../support/seed.ts'

const DAY = 24 * 60 * 60 * 1000
const inDays = (days: number) => new Date(Date.now() + days * DAY)

export function describeCredentialExpiries(current: () => Database): void {
  const expiries = () => createCredentialExpiries(current())
  const events = async () => {
    const rows = await current().db.selectFrom('audit_events').selectAll().orderBy('sequence').execute()
    return rows.map(({ actor, action, resource }) => `${actor} ${action} ${resource}`)
  }
  const newUser = async () => await seedUser(current(), { project: await seedProject(current()) })
  /** A credential of each kind, made 60 days ago, with its resource name. */
  const seedEach = async ({ userId }: SeededUser, expiresAt: Date) => {
    const { db } = current()
    const dates = { creation_date: inDays(-60), expiration_date: expiresAt }
    const { secretId } = await seedSecret(current(), userId)
    await db.updateTable('credentials').set(dates).where('credential_id', '=', secretId).execute()
    const [key, token, certificate] = [randomUUID(), randomUUID(), randomUUID()]
    const row = { user_id: userId, mac: Buffer.alloc(32), content: '{}', ...dates }
    const secret = { user_id: userId, hash: Buffer.from(randomUUID().replaceAll('-', '')), ...dates }
    await db
      .insertInto('credentials')
      .values([
        { ...row, credential_id: key, kind: 'user_key' },
        { ...secret, credential_id: token, kind: 'personal_access_token' },
        { ...row, credential_id: certificate, kind: 'client_certificate' },
      ])
      .execute()
    const resources = [`secrets/${secretId}`, `keys/${key}`, `tokens/${token}`, `certificates/${certificate}`]
    return { secretId, resources: resources.map((part) => `users/${userId}/${part}`) }
  }
  const announced = async () => (await expiries().announce()).announced
  const expire = async (expiresAt: Date) => {
    await sql`update credentials set expiration_date = ${expiresAt}`.execute(current().db)
  }
  const announcements = (days: number, resources: readonly string[]) =>
    resources.map((resource) => `system credentials/expires_within_${days}_days ${resource}`).sort()

  describe('credentials that expire', () => {
    it('are announced 30 and 7 days before, once each, by whichever replica', async () => {
      const { resources } = await seedEach(await newUser(), inDays(31))
      expect(await announced()).toBe(0)
      const soon = inDays(29)
      await expire(soon)
      const counts = await Promise.all(Array.from({ length: 4 }, announced))
      expect(counts.reduce((sum, count) => sum + count)).toBe(4)
      expect(await announced()).toBe(0)
      expect((await events()).sort()).toEqual(announcements(30, resources))

      await current().db.deleteFrom('audit_events').execute()
      await expire(inDays(6.9))
      expect(await announced()).toBe(4)
      expect(await announced()).toBe(0)
      expect((await events()).sort()).toEqual(announcements(7, resources))
    })

    it('are not announced if they were made to live for less time, if they do not work, or if their user is disabled', async () => {
      const user = await newUser()
      const { secretId } = await seedEach(user, inDays(5))
      const { db } = current()
      await sql`update credentials set creation_date = ${inDays(-1)} where kind <> 'client_secret'`.execute(db)
      await db
        .updateTable('credentials')
        .set({ deactivation_date: inDays(-1) })
        .where('credential_id', '=', secretId)
        .execute()
      expect(await announced()).toBe(0)
      await db.updateTable('credentials').set({ deactivation_date: null }).execute()
      await db.updateTable('service_users').set({ enabled: false }).execute()
      expect(await announced()).toBe(0)
      await db.updateTable('service_users').set({ enabled: true }).execute()
      expect(await announced()).toBe(1)
    })

    it('are counted, client secrets if they were used in the last 30 days', async () => {
      const user = await newUser()
      const { secretId } = await seedEach(user, inDays(5))
      await seedEach(user, inDays(20))
      await current()
        .db.updateTable('credentials')
        .set({ last_use_date: inDays(-29) })
        .where('credential_id', '=', secretId)
        .execute()
      const { expiring } = await expiries().count()
      const of = (kind: string) => expiring.filter((counted) => counted.kind === kind)
      expect(of('client_secret').map(({ withinDays, count }) => [withinDays, count])).toEqual([
        [30, 1],
        [7, 1],
      ])
      for (const kind of ['user_key', 'personal_access_token', 'client_certificate']) {
        expect(of(kind).map(({ withinDays, count }) => [withinDays, count])).toEqual([
          [30, 2],
          [7, 1],
        ])
      }
    })
  })

  describe('client secrets that are not used', () => {
    it('are counted when they work and the last use, or the creation, was 90 days ago', async () => {
      const { userId } = await newUser()
      const seed = async (columns: Record<string, Date | null>) => {
        const { secretId } = await seedSecret(current(), userId)
        await current().db.updateTable('credentials').set(columns).where('credential_id', '=', secretId).execute()
      }
      const old = { creation_date: inDays(-200) }
      await seed(old)
      await seed({ ...old, last_use_date: inDays(-91) })
      await seed({ ...old, last_use_date: inDays(-89) })
      await seed({ creation_date: inDays(-89) })
      await seed({ ...old, expiration_date: inDays(-1) })
      await seed({ ...old, deactivation_date: inDays(-1) })
      expect((await expiries().count()).unusedSecrets).toBe(2)
    })
  })
}
