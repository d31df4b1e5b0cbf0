/**
 * The `AuditLog` on a database. It is not among the rows of `storage/audit`, because it writes to webhooks what they miss. Events of changes are written
 * by `instance-change.ts`, together with the change.
 */
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { AuditEvent, AuditFilter } from '../../domain/audit.ts'
import { webhookResource } from '../../domain/audit-resources.ts'
import { isWanted } from '../../domain/events/webhook.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import type { AuditLog } from '../../domain/ports/audit.ts'
import type { Page } from '../../domain/ports/identities.ts'
import { insertAuditEvent, matches, toAuditEvent } from '../audit/audit-event-row.ts'
import { isBefore, parsePosition } from '../audit/audit-position.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import { guardCommits } from '../postgres/commits.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'
import type { Tables } from '../schema/tables.ts'
import { lockWebhooks, writeDelivery } from './webhook-row.ts'

/** Events per statement, so that none times out. */
const DELETE_BATCH = 1000

/** The audit trail of a migrated database. */
export function createAuditLog({ db }: Database): AuditLog {
  const guarded = guardCommits({ db })
  const deleteBatch = async (trx: Transaction<Tables>, before: Date): Promise<number> => {
    const oldest = trx
      .selectFrom('audit_events')
      .select('event_id')
      .where('event_date', '<', before)
      .orderBy('event_date')
      .orderBy('event_id')
      .limit(DELETE_BATCH)
    const deletion = trx.deleteFrom('audit_events').where('event_id', 'in', oldest)
    if (!(await hasWebhooks(trx))) return Number((await deletion.executeTakeFirst()).numDeletedRows)
    const rows = await deletion.returningAll().execute()
    await noteExpired(trx, rows)
    return rows.length
  }

  return {
    refuse: (entry, outcome, omission) =>
      usingStorageWithRetries(async () => {
        await guarded(async () => insertAuditEvent(db, entry, { at: await readClock(db), outcome, omission }))
      }),

    list: (filter, page) =>
      usingStorageWithRetries(async () => {
        const rows = await selectEvents({ db }, filter, page).execute()
        return rows.map(toAuditEvent)
      }),

    deleteBefore: (at) => usingStorageWithRetries(() => db.transaction().execute((trx) => deleteBatch(trx, at))),
  }
}

/**
 * The date of a refusal. It is not a change: dated after the newest change while the clock is behind it, all refusals would have
 * the same date (decision 15).
 */
async function readClock(db: Kysely<Tables>): Promise<Date> {
  const { at } = await db.selectNoFrom(CLOCK.as('at')).executeTakeFirstOrThrow()
  return at
}

function selectEvents(
  { db }: Pick<Database, 'db'>,
  filter: AuditFilter,
  { after, limit }: Page<Pick<AuditEvent, 'at' | 'eventId'>>,
) {
  const query = db
    .selectFrom('audit_events')
    .selectAll()
    .where(matches(filter))
    .orderBy('event_date', 'desc')
    .orderBy('event_id', 'desc')
    .limit(limit)
  if (after === null) return query
  return query.where(sql<boolean>`(event_date, event_id) < (${after.at}, ${after.eventId})`)
}

/** Whether any webhook could miss an event. */
async function hasWebhooks(trx: Transaction<Tables>): Promise<boolean> {
  return (await trx.selectFrom('webhooks').select('webhook_id').limit(1).executeTakeFirst()) !== undefined
}

/** Notes that events were deleted, for the webhooks that had not got them. */
async function noteExpired(
  trx: Transaction<Tables>,
  deleted: readonly Selectable<Tables['audit_events']>[],
): Promise<void> {
  for (const { webhookId, filter, delivery } of await lockWebhooks(trx)) {
    const position = parsePosition(delivery.position)
    const missed = deleted.filter((row) => isBefore(position, row) && isWanted(filter, toAuditEvent(row)))
    if (missed.length === 0) continue
    await writeDelivery(trx, webhookId, { ...delivery, expired: delivery.expired + missed.length })
    const entry = { ...SYSTEM, action: 'webhook/expire', resource: webhookResource(webhookId) }
    const { clock: at } = await readChangeMoment(trx)
    await insertAuditEvent(trx, entry, { at, outcome: `EXPIRED ${missed.length}` })
  }
}
