/**
 * The part of the contract about `AuditReader`: the order in which the trail is followed.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { AuditFilter, AuditPosition } from '../../../src/domain/audit.ts'
import { createAuditReader } from '../../../src/storage/audit/audit-reader.ts'
import { createAuditLog } from '../../../src/storage/events/audit-log.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anAuditEntry } from '../../support/audit-entry.ts'
import { allEventsReadable } from '../../support/readable-events.ts'

const EVERYTHING: AuditFilter = { from: null, to: null, actor: null, resource: null }

export function describeAuditReader(current: () => Database): void {
  const reader = () => createAuditReader(current())
  const write = (action: string, resource = '') =>
    createAuditLog(current()).refuse(anAuditEntry(action, resource), 'no')
  const readNow = async (after: AuditPosition | null, filter: Partial<AuditFilter> = {}, limit = 100) => {
    const actions: string[] = []
    for (let position = after; ; ) {
      const batch = await reader().readAfter(position, { filter: { ...EVERYTHING, ...filter }, limit })
      actions.push(...batch.events.map(({ event }) => event.action))
      position = batch.position
      if (batch.isComplete) return { actions, position }
    }
  }
  const readAll: typeof readNow = async (...options) => {
    await allEventsReadable(current())
    return await readNow(...options)
  }
  const ending: (() => Promise<void>)[] = []

  afterEach(async () => {
    for (const end of ending.splice(0)) await end()
  })

  /** A transaction that has written, and stays open until `commit` is called. */
  const openTransaction = async (action: string) => {
    let commit = () => {}
    let onWritten = () => {}
    const committing = new Promise<void>((resolve) => {
      commit = resolve
    })
    const written = new Promise<void>((resolve) => {
      onWritten = resolve
    })
    const done = current()
      .db.transaction()
      .execute(async (trx) => {
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
        await sql`
          insert into audit_events (event_id, event_date, actor, action, resource, outcome, request_id)
            values (gen_random_uuid(), now(), 'tester', ${action}, '', 'ok', '')`.execute(trx)
        onWritten()
        await committing
      })
    await written
    const end = async () => {
      commit()
      await done
    }
    ending.push(end)
    return end
  }

  describe('following the audit trail', () => {
    it('loses no event of a transaction that commits after later ones', async () => {
      let { position } = await readAll(await reader().latest())
      const commit = await openTransaction('early')
      await write('late')
      const meanwhile = await readNow(position)
      expect(meanwhile.actions).toEqual([])
      position = meanwhile.position
      await commit()
      expect((await readAll(position)).actions).toEqual(['early', 'late'])
    })

    it('goes on after a position whose events were deleted', async () => {
      await write('a')
      const { position } = await readAll(null)
      await current().db.deleteFrom('audit_events').execute()
      const { actions, position: next } = await readAll(position)
      expect({ actions, next }).toEqual({ actions: [], next: await reader().latest() })
      await write('b')
      for (const after of [position, next]) expect((await readAll(after)).actions).toEqual(['b'])
    })

    it.each(['', 'MC4u', Buffer.from('0.07.1').toString('base64url'), Buffer.from('0.1').toString('base64url')])(
      'refuses a position that it has not returned: "%s"',
      async (position) => {
        await expect(readAll(position)).rejects.toMatchObject({ code: 'audit_position_invalid' })
      },
    )

    it('refuses a position ahead of the database, as one of before a restore', async () => {
      const ahead: AuditPosition = Buffer.from('0.9000000000000.1').toString('base64url')
      await expect(readAll(ahead)).rejects.toMatchObject({ code: 'audit_position_unknown' })
    })
  })
}
