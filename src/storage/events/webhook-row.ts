/**
 * Webhooks as rows, in both directions: what an administrator decides, and how delivery goes.
 */
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import { UnreadableRow } from '../../domain/errors.ts'
import type { Delivery, FailingEvent } from '../../domain/events/delivery.ts'
import type { Disabled, Webhook } from '../../domain/events/webhook.ts'
import { difference } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'

type WebhookRow = Selectable<Tables['webhooks']>
type DeliveryRow = Selectable<Tables['webhook_deliveries']>

/** All webhooks, ordered by name. @throws {UnreadableRow} */
export async function readWebhooks(db: Kysely<Tables>): Promise<readonly Webhook[]> {
  const rows = await selectWebhooks(db).execute()
  // Sorted here: the order of text in a database depends on its locale.
  return rows.map(toWebhook).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** One webhook; its delivery is locked until the transaction ends. @throws {UnreadableRow} */
export async function lockWebhook(trx: Transaction<Tables>, webhookId: string): Promise<Webhook | undefined> {
  // In a statement of its own: one that waits for the lock goes on with the row of `webhooks` from before it waited.
  await trx
    .selectFrom('webhook_deliveries')
    .select('webhook_id')
    .where('webhook_id', '=', webhookId)
    .forUpdate()
    .execute()
  const row = await selectWebhooks(trx).where('w.webhook_id', '=', webhookId).executeTakeFirst()
  return row === undefined ? undefined : toWebhook(row)
}

/** Writes the difference, and returns whether there is one. */
export async function writeWebhooks(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: readonly Webhook[], next: readonly Webhook[]],
): Promise<boolean> {
  const gone = difference(before, next, ({ webhookId }) => webhookId).removed
  const written = difference(before, next, (webhook) => JSON.stringify(webhook)).added
  if (gone.length > 0) {
    const ids = gone.map(({ webhookId }) => webhookId)
    await trx.deleteFrom('webhooks').where(sql<boolean>`webhook_id = any(${ids}::uuid[])`).execute()
  }
  for (const webhook of written) {
    const { webhook_id, creation_date, ...columns } = toRow(webhook)
    if (before.some(({ webhookId }) => webhookId === webhook_id)) {
      await trx.updateTable('webhooks').set(columns).where('webhook_id', '=', webhook_id).execute()
      await writeDelivery(trx, webhook_id, webhook.delivery)
    } else {
      await trx
        .insertInto('webhooks')
        .values({ webhook_id, creation_date, ...columns })
        .execute()
      const delivery = { webhook_id, ...toDeliveryRow(webhook.delivery) }
      await trx.insertInto('webhook_deliveries').values(delivery).execute()
    }
  }
  return gone.length + written.length > 0
}

/** Writes how delivery goes, without the count of retention. */
export async function writeDelivery(trx: Transaction<Tables>, webhookId: string, delivery: Delivery): Promise<void> {
  const row = toDeliveryRow(delivery)
  await trx.updateTable('webhook_deliveries').set(row).where('webhook_id', '=', webhookId).execute()
}

function selectWebhooks(db: Kysely<Tables>) {
  return db
    .selectFrom('webhooks as w')
    .innerJoin('webhook_deliveries as d', 'd.webhook_id', 'w.webhook_id')
    .selectAll('w')
    .select([
      'd.position',
      'd.lease',
      'd.lease_end_date',
      'd.next_attempt_date',
      'd.failing_event_id',
      'd.failing_event_date',
      'd.failures',
      'd.failing_since_date',
      'd.rejected_since_date',
      'd.waiting',
      'd.last_success_date',
      'd.last_failure',
      'd.last_failure_date',
      'd.given_up',
      'd.expired',
    ])
}

function toWebhook(row: WebhookRow & Omit<DeliveryRow, 'webhook_id'>): Webhook {
  const { webhook_id: webhookId, name, url, disabled } = row
  const { previous_sealed_secret: sealed, previous_expiration_date: expiresAt } = row
  if (disabled !== null && !isReason(disabled)) {
    throw new UnreadableRow(
      { kind: 'webhook', id: webhookId },
      `webhook ${webhookId} in the database is not valid: why it is disabled is not known`,
    )
  }
  return {
    webhookId,
    name,
    url,
    caCertificates: row.ca_certificates,
    filter: { types: row.event_types, resources: row.resources },
    disabled,
    secrets: {
      current: row.sealed_secret,
      previous: sealed === null || expiresAt === null ? null : { sealed, expiresAt },
    },
    createdAt: row.creation_date,
    testedAt: row.last_test_date,
    delivery: toDelivery(row),
  }
}

function isReason(text: string): text is Disabled {
  return (['by_administrator', 'gone'] satisfies Disabled[] as string[]).includes(text)
}

function toDelivery(row: Omit<DeliveryRow, 'webhook_id'>): Delivery {
  const { lease: id, lease_end_date: until, last_failure: reason, last_failure_date: failedAt } = row
  return {
    position: row.position,
    lease: id === null || until === null ? null : { id, until },
    nextAttemptAt: row.next_attempt_date,
    failing: toFailing(row),
    lastSuccessAt: row.last_success_date,
    lastFailure: reason === null || failedAt === null ? null : { reason, at: failedAt },
    givenUp: Number(row.given_up),
    expired: Number(row.expired),
  }
}

function toFailing(row: Omit<DeliveryRow, 'webhook_id'>): FailingEvent | null {
  const { failing_event_id: eventId, failing_event_date: eventAt, failing_since_date: since } = row
  if (eventId === null || eventAt === null || since === null) return null
  const { failures, rejected_since_date: rejectedSince, waiting } = row
  return { eventId, eventAt, failures, since, rejectedSince, waiting }
}

function toRow({ webhookId, name, url, caCertificates, filter, disabled, secrets, createdAt, testedAt }: Webhook) {
  return {
    webhook_id: webhookId,
    name,
    url,
    ca_certificates: caCertificates,
    event_types: [...filter.types],
    resources: [...filter.resources],
    disabled,
    sealed_secret: secrets.current,
    previous_sealed_secret: secrets.previous?.sealed ?? null,
    previous_expiration_date: secrets.previous?.expiresAt ?? null,
    creation_date: createdAt,
    last_test_date: testedAt,
  }
}

/** The longest failure that is kept, in characters. */
const MAX_REASON = 1000

function toDeliveryRow({ position, lease, nextAttemptAt, failing, lastSuccessAt, lastFailure, givenUp }: Delivery) {
  return {
    position,
    lease: lease?.id ?? null,
    lease_end_date: lease?.until ?? null,
    next_attempt_date: nextAttemptAt,
    failing_event_id: failing?.eventId ?? null,
    failing_event_date: failing?.eventAt ?? null,
    failures: failing?.failures ?? 0,
    failing_since_date: failing?.since ?? null,
    rejected_since_date: failing?.rejectedSince ?? null,
    waiting: failing?.waiting ?? 0,
    last_success_date: lastSuccessAt,
    last_failure: lastFailure?.reason.slice(0, MAX_REASON) ?? null,
    last_failure_date: lastFailure?.at ?? null,
    given_up: givenUp,
  }
}
