/**
 * The part of the contract about the dates of changes: none is before an earlier one, of whatever kind.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createProject } from '../../../src/domain/identities/project.ts'
import { createAuditLog } from '../../../src/storage/events/audit-log.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { eventually } from '../../support/eventually.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'

const HOUR = 3_600_000

export function describeChangeTime(current: () => Database): void {
  /** Sets the dates as if the clock had gone back after a change. */
  async function setClockBack(milliseconds: number): Promise<Date> {
    const { rows } = await sql<{ changed_at: Date }>`
      update instance set changed_at = clock_timestamp() + ${milliseconds} * interval '1 millisecond' where id = 1
        returning changed_at`.execute(current().db)
    return rows[0]!.changed_at
  }

  async function newProject(): Promise<Date> {
    const projectId = randomUUID()
    const project = await createIdentityStore(current(), TEST_MACS).changeProject(
      projectId,
      anEntry('project'),
      (_, now) => {
        const next = createProject(projectId, `project-${projectId}`, now)
        return { next, result: next }
      },
    )
    return project.createdAt
  }

  const events = () =>
    createAuditLog(current()).list({ from: null, to: null, actor: null, resource: null }, { after: null, limit: 10 })

  const latestChange = async () =>
    (await current().db.selectFrom('instance').select('changed_at').executeTakeFirstOrThrow()).changed_at

  describe('the date of a change', () => {
    it('is after that of every change before, of whatever kind, when the clock has gone back by an hour', async () => {
      const newest = await setClockBack(HOUR)
      const project = await newProject()
      const key = await keyOperations(current()).create()
      const another = await newProject()
      const dates = [newest, project, key.createdAt, another].map(Number)
      expect(dates).toEqual([...new Set(dates)].sort((a, b) => a - b))
      expect(another.getTime()).toBeLessThan(newest.getTime() + 1000)
      expect(await latestChange()).toEqual(another)
    })

    it('is not that of refusals: they are dated by the clock, however far that is behind the newest change', async () => {
      const newest = await setClockBack(HOUR)
      const audit = createAuditLog(current())
      await audit.refuse(anEntry('first'), 'REASON')
      const [first] = await events()
      expect(Number(first?.at)).toBeLessThan(newest.getTime() - HOUR / 2)
      await eventually(async () => {
        await audit.refuse(anEntry('later'), 'REASON')
        const [last] = await events()
        expect(Number(last?.at)).toBeGreaterThan(Number(first?.at))
      })
    })
  })

  describe('dating the publication of web keys', () => {
    it('dates initial keys after they were created, once, as a change without an event', async () => {
      const store = createKeyStore(current(), TEST_MACS)
      const keys = keyOperations(current())
      const [active, initial] = [await keys.create(), await keys.create()]
      await keys.activate(active.keyId)
      const reader = createInstanceReader(current(), TEST_MACS)
      const before = await reader.load()
      const events = () => current().db.selectFrom('audit_events').selectAll().execute()
      const trail = await events()

      await store.publish()
      const { ring, version } = await reader.load()
      expect(version).toBe(before.version + 1)
      expect(ring.filter(({ state }) => state === 'active')).toEqual(
        before.ring.filter((key) => key.state === 'active'),
      )
      const published = ring.find(({ keyId }) => keyId === initial.keyId)
      expect(published).toEqual({ ...initial, publishedAt: expect.any(Date) })
      expect(published).toMatchObject({ publishedAt: await latestChange() })
      expect(await events()).toEqual(trail)

      await store.publish()
      expect(await reader.load()).toMatchObject({ ring, version })
    })
  })
}
