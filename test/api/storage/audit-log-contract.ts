/**
 * The part of the contract about `AuditLog`. That changes write events is tested with the changes.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { AuditFilter } from '../../../src/domain/audit.ts'
import { createAuditLog } from '../../../src/storage/events/audit-log.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'

const EVERYTHING: AuditFilter = { from: null, to: null, actor: null, resource: null }
const second = (number: number) => new Date(Date.UTC(2024, 0, 1, 0, 0, number))

export function describeAuditLog(current: () => Database): void {
  const log = () => createAuditLog(current())
  const list = (filter: Partial<AuditFilter> = {}, limit = 1000) =>
    log().list({ ...EVERYTHING, ...filter }, { after: null, limit })
  const insert = async (columns: { date?: Date; actor?: string; resource?: string } = {}) => {
    const { date = second(0), actor = 'tester', resource = '' } = columns
    await current()
      .db.insertInto('audit_events')
      .values({
        event_id: randomUUID(),
        event_date: date,
        actor,
        action: 'test',
        resource,
        outcome: 'ok',
        request_id: '',
      })
      .execute()
  }

  describe('the audit trail', () => {
    it('cuts the text of unauthenticated callers to the length of its columns', async () => {
      const long = '\0"%😀'.repeat(200)
      await log().refuse({ actor: long, action: long, resource: long, requestId: long, clientAddress: long }, long)
      const [event] = await list()
      expect(event?.actor.startsWith('\ufffd"%😀')).toBe(true)
      expect([event?.actor.length, event?.resource.length, event?.clientAddress.length]).toEqual([200, 500, 64])
    })

    it('deletes events before a time, in batches of a thousand', async () => {
      await sql`
        insert into audit_events (event_id, event_date, actor, action, resource, outcome, request_id)
        select gen_random_uuid(), ${second(1)}::timestamptz, 'a', 'b', '', 'ok', ''
        from generate_series(1, 2500)`.execute(current().db)
      await insert({ date: second(2) })
      for (const count of [1000, 1000, 500]) expect(await log().deleteBefore(second(2))).toBe(count)
      expect((await list()).map(({ at }) => at)).toEqual([second(2)])
      expect(await log().deleteBefore(second(2))).toBe(0)
    })
  })
}
