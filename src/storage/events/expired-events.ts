/**
 * Counts the events that are deleted before a webhook got them: each count becomes an event, in the transaction of the deletion.
 */
import type { Transaction } from 'kysely'
import type { AuditEvent } from '../../domain/audit.ts'
import { isWanted } from '../../domain/events/webhook.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import { insertAuditEvent } from '../audit/audit-event-row.ts'
import { isBefore, type Place, parsePosition } from '../audit/audit-position.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import type { Tables } from '../schema/tables.ts'
import { lockWebhooks, writeDelivery } from './webhook-row.ts'

/** An event that is deleted, and its place in the order of the trail. */
export interface DeletedEvent extends Place {
  readonly event: AuditEvent
}

/** Whether any webhook could miss an event. */
export async function hasWebhooks(trx: Transaction<Tables>): Promise<boolean> {
  return (await trx.selectFrom('webhooks').select('webhook_id').limit(1).executeTakeFirst()) !== undefined
}

/** Notes that events were deleted, for the webhooks that had not got them. */
export async function noteExpired(trx: Transaction<Tables>, deleted: readonly DeletedEvent[]): Promise<void> {
  for (const { webhookId, filter, delivery } of await lockWebhooks(trx)) {
    const position = parsePosition(delivery.position)
    const missed = deleted.filter((place) => isWanted(filter, place.event) && isBefore(position, place))
    if (missed.length === 0) continue
    await writeDelivery(trx, webhookId, { ...delivery, expired: delivery.expired + missed.length })
    const entry = { ...SYSTEM, action: 'webhook/expire', resource: `webhooks/${webhookId}` }
    const { clock: at } = await readChangeMoment(trx)
    await insertAuditEvent(trx, entry, { at, outcome: `EXPIRED ${missed.length}` })
  }
}
