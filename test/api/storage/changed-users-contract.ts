/**
 * The part of the contract about what a replica is told to read again. That it is enough, whatever was changed, is part of
 * `identity-model-contract.ts`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { ChangedUsers, IdentityChanges, Revision } from '../../../src/domain/changes.ts'
import { addIssuer, removeIssuer } from '../../../src/domain/federation/trusted-issuer.ts'
import { KEPT_CHANGES } from '../../../src/storage/change/change-row.ts'
import { bumpVersion, readChangeTime } from '../../../src/storage/change/instance-row.ts'
import { createFederationStore } from '../../../src/storage/federation/federation-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'
import { identityOperations } from './identity-operations.ts'

const ANY: IdentityChanges = { kind: 'any' }

export function describeChangedUsers(current: () => Database): void {
  const reader = () => createInstanceReader(current(), TEST_MACS)
  const now = (): Promise<Revision> => reader().status()
  const changesSince = async (revision: Revision) => (await reader().loadSince(revision, () => ({}))).changes
  const operations = () => identityOperations(current())
  const newUser = async () => {
    const [projectId, userId] = [randomUUID(), randomUUID()]
    await operations().createProject(projectId, `project-${projectId}`)
    await operations().createUser(userId, projectId)
    return { projectId, userId }
  }
  const changeOnce = (users: ChangedUsers) =>
    current()
      .db.transaction()
      .execute(async (trx) => bumpVersion(trx, current(), { at: await readChangeTime(trx), users }))
  const some = (userIds: readonly string[] = [], projectIds: readonly string[] = []): IdentityChanges => ({
    kind: 'some',
    userIds: new Set(userIds),
    projectIds: new Set(projectIds),
    subjects: [],
  })

  describe('what a replica is told to read again', () => {
    it('is the users and projects of all changes since its revision', async () => {
      const { projectId, userId } = await newUser()
      const before = await now()
      expect(await changesSince(before)).toEqual(some())
      await operations().setEnabled(userId, false)
      await keyOperations(current()).create()
      expect(await changesSince(before)).toEqual(some([userId]))
      const between = await now()
      await operations().renameProject(projectId, 'renamed')
      await operations().deleteUser(userId)
      expect(await changesSince(before)).toEqual(some([userId], [projectId]))
      expect(await changesSince(between)).toEqual(some([userId], [projectId]))
      expect(await changesSince(await now())).toEqual(some())
    })

    it('has the subjects that the changed users have now', async () => {
      const { userId } = await newUser()
      const issuers = createFederationStore(current(), TEST_MACS)
      const issuerId = randomUUID()
      const keys = { kind: 'given', keys: [{ ...newKeyPair().publicJwk, kid: 'first' }] } as const
      const facts = {
        issuerId,
        issuer: 'https://issuer.example',
        keys,
        algorithms: ['ES256'],
        maxLifetimeSeconds: 600,
      } as const
      const before = await now()
      await issuers.change(anEntry('trust'), (all, date) => ({
        next: addIssuer(all, facts, { date, own: 'https://id.example' }),
        result: null,
      }))
      expect(await changesSince(before)).toEqual(some())
      const names = { issuerId, subject: 'robot', audience: null, claims: [], expiresAt: null }
      const identity = { kind: 'federated_identity' as const, credentialId: randomUUID(), ...names }
      await operations().onUser(userId, 'add', (user, { date }) => ({
        ...user,
        credentials: [{ ...identity, createdAt: date }],
      }))
      expect(await changesSince(before)).toEqual({ ...some([userId]), subjects: [{ issuerId, subject: 'robot' }] })

      // Its users lose their identities, whoever they are.
      await issuers.change(anEntry('distrust'), (all) => ({ next: removeIssuer(all, issuerId), result: null }))
      expect(await changesSince(before)).toEqual(ANY)
    })

    it('is everything after a change by a program that does not say what it changes', async () => {
      const { userId } = await newUser()
      const before = await now()
      await operations().setEnabled(userId, false)
      await sql`update instance set version = version + 1, changed_at = now()`.execute(current().db)
      const older = await now()
      await operations().setEnabled(userId, true)
      expect(await changesSince(before)).toEqual(ANY)
      expect(await changesSince(older)).toEqual(ANY)
      const after = await now()
      await operations().setEnabled(userId, false)
      expect(await changesSince(after)).toEqual(some([userId]))
    })

    it('is everything if the database has gone back, also if it is ahead again by other changes', async () => {
      const { userId } = await newUser()
      await operations().setEnabled(userId, false)
      const lost = { ...(await now()), changedAt: new Date(0) }
      expect(await changesSince({ ...lost, version: lost.version + 1 })).toEqual(ANY)
      expect(await changesSince(lost)).toEqual(ANY)
      await operations().setEnabled(userId, true)
      expect(await changesSince(lost)).toEqual(ANY)
    })

    it('is everything for a replica that has nothing yet, and for one that was away for long, of which no row is kept', async () => {
      await newUser()
      expect(await changesSince({ version: -1, changedAt: null })).toEqual(ANY)
      const before = await now()
      for (let change = 1; change < KEPT_CHANGES; change += 1)
        await changeOnce({ kind: 'some', userIds: [], projectIds: [] })
      expect(await changesSince(before)).toEqual(some())
      await changeOnce({ kind: 'some', userIds: [], projectIds: [] })
      expect(await changesSince(before)).toEqual(ANY)
      const { rows } = await sql<{ count: string }>`select count(*) from instance_changes`.execute(current().db)
      expect(Number(rows[0]?.count)).toBe(KEPT_CHANGES)
    })
  })
}
