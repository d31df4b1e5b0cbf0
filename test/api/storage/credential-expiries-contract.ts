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
    await db.updateTable('client_secrets').set(dates).where('secret_id', '=', secretId).execute()
    const [key, token, certificate] = [randomUUID(), randomUUID(), randomUUID()]
    const mac = Buffer.alloc(32)
    await db
      .insertInto('user_keys')
      .values({ key_id: key, user_id: userId, public_jwk: '{}', mac, ...dates })
      .execute()
    await db
      .insertInto('personal_access_tokens')
      .values({ token_id: token, user_id: userId, hash: Buffer.from(randomUUID().replaceAll('-', '')), ...dates })
      .execute()
    await db
      .insertInto('client_certificates')
      .values({ certificate_id: certificate, user_id: userId, match: 'subject_dn', value: 'CN=a', mac, ...dates })
      .execute()
    const resources = [`secrets/${secretId}`, `keys/${key}`, `tokens/${token}`, `certificates/${certificate}`]
    return { secretId, resources: resources.map((part) => `users/${userId}/${part}`) }
  }
  const announced = async () => (await expiries().announce()).announced
  const expire = async (expiresAt: Date) => {
    for (const table of ['client_secrets', 'user_keys', 'personal_access_tokens', 'client_certificates'] as const) {
      await sql`update ${sql.table(table)} set expiration_date = ${expiresAt}`.execute(current().db)
    }
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
      for (const table of ['user_keys', 'personal_access_tokens', 'client_certificates'] as const) {
        await sql`update ${sql.table(table)} set creation_date = ${inDays(-1)}`.execute(db)
      }
      await db
        .updateTable('client_secrets')
        .set({ deactivation_date: inDays(-1) })
        .where('secret_id', '=', secretId)
        .execute()
      expect(await announced()).toBe(0)
      await db.updateTable('client_secrets').set({ deactivation_date: null }).execute()
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
        .db.updateTable('client_secrets')
        .set({ last_use_date: inDays(-29) })
        .where('secret_id', '=', secretId)
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
        await current().db.updateTable('client_secrets').set(columns).where('secret_id', '=', secretId).execute()
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
