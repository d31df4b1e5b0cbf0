/**
 * Waiting until the events of an instance can be read: an older transaction of any database of the server holds them back.
 */
import { expect } from '@jest/globals'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/postgres/database.ts'
import { eventually } from './eventually.ts'

/** Returns when all events that are stored can be read. */
export async function allEventsReadable({ db }: Pick<Database, 'db'>): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from audit_events e join instance i on i.audit_epoch = e.epoch
        where transaction_id >= pg_snapshot_xmin(pg_current_snapshot())`.execute(db)
    expect(rows).toEqual([])
  })
}
