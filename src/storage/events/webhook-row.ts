/** Webhooks as rows, in both directions: what an administrator decides, and how delivery goes. */
import type { Kysely, Selectable, Transaction } from 'kysely'
import type { Delivery } from '../../domain/events/delivery.ts'
import type { Disabled, Webhook } from '../../domain/events/webhook.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'
import { type BeforeAndNext, writeRows } from '../schema/write-rows.ts'

/** The longest failure that is kept, in characters. */
const MAX_REASON = 1000

/** Members of a delivery that are dates. */
const DATES: ReadonlySet<string> = new Set([
  'until',
  'nextAttemptAt',
  'eventAt',
  'since',
  'rejectedSince',
  'lastSuccessAt',
  'at',
])

/** All webhooks, ordered by name. @throws {UnreadableRow} */
export async function readWebhooks(db: Kysely<Tables>): Promise<readonly Webhook[]> {
  return toWebhooks(await db.selectFrom('webhooks').selectAll().execute())
}

/** The same; none of them is changed before the transaction ends. */
export async function lockWebhooks(trx: Transaction<Tables>): Promise<readonly Webhook[]> {
  return toWebhooks(await trx.selectFrom('webhooks').selectAll().orderBy('webhook_id').forUpdate().execute())
}

/** One webhook, locked until the transaction ends. @throws {UnreadableRow} */
export async function lockWebhook(trx: Transaction<Tables>, webhookId: string): Promise<Webhook | undefined> {
  const query = trx.selectFrom('webhooks').selectAll().where('webhook_id', '=', webhookId).forUpdate()
  return toWebhooks(await query.execute())[0]
}

/** Writes the difference, and returns whether there is one. */
export function writeWebhooks(trx: Transaction<Tables>, pairs: BeforeAndNext<Webhook>): Promise<boolean> {
  return writeRows(trx, { table: 'webhooks', key: ['webhook_id'], rows: (webhook) => [toRow(webhook)] }, pairs)
}

/** Writes how delivery goes. The row must be locked. */
export async function writeDelivery(trx: Transaction<Tables>, webhookId: string, delivery: Delivery): Promise<void> {
  const row = { delivery: toJson(delivery) }
  await trx.updateTable('webhooks').set(row).where('webhook_id', '=', webhookId).execute()
}

function toWebhooks(rows: readonly Selectable<Tables['webhooks']>[]): readonly Webhook[] {
  // Sorted here: the order of text in a database depends on its locale.
  return rows.map(toWebhook).sort((a, b) => (a.name < b.name ? -1 : 1))
}

function toWebhook(row: Selectable<Tables['webhooks']>): Webhook {
  const { webhook_id: webhookId, name, url, disabled } = row
  const { previous_sealed_secret: sealed, previous_expiration_date: expiresAt } = row
  return readRow('webhook', webhookId, `webhook ${webhookId}`, () => {
    if (disabled !== null && !isReason(disabled)) throw new Error('why it is disabled is not known')
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
      delivery: toDelivery(row.delivery),
    }
  })
}

function toDelivery(json: string): Delivery {
  try {
    return JSON.parse(json, (name, value) => (DATES.has(name) && value !== null ? new Date(value) : value))
  } catch {
    // The error of the parser quotes the text.
    throw new Error('its delivery is not JSON')
  }
}

function isReason(text: string): text is Disabled {
  return (['by_administrator', 'gone'] satisfies Disabled[] as string[]).includes(text)
}

function toRow(webhook: Webhook) {
  const { webhookId, name, url, caCertificates, filter, disabled, secrets, createdAt, testedAt, delivery } = webhook
  return {
    webhook_id: webhookId,
    name,
    url,
    ca_certificates: caCertificates,
    event_types: filter.types,
    resources: filter.resources,
    disabled,
    sealed_secret: secrets.current,
    previous_sealed_secret: secrets.previous?.sealed ?? null,
    previous_expiration_date: secrets.previous?.expiresAt ?? null,
    creation_date: createdAt,
    last_test_date: testedAt,
    delivery: toJson(delivery),
  }
}

function toJson({ lastFailure, ...delivery }: Delivery): string {
  const failure = lastFailure && { ...lastFailure, reason: lastFailure.reason.slice(0, MAX_REASON) }
  return JSON.stringify({ ...delivery, lastFailure: failure })
}
