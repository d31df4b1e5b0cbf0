/** The `WebhookStore` on a database: all webhooks, changed as a whole, and the delivery of one, which is no change of the instance. */

import { NO_USER } from '../../domain/changes.ts'
import type { WebhookStore } from '../../domain/ports/webhooks.ts'
import { insertAuditEvent } from '../audit/audit-event-row.ts'
import { changeForResult } from '../change/instance-change.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { lockWebhook, lockWebhooks, readWebhooks, writeDelivery, writeWebhooks } from './webhook-row.ts'

export function createWebhookStore(database: Database): WebhookStore {
  const { db } = database
  return {
    change: (entry, decide) =>
      changeForResult(database, entry, {
        // What is recorded of a delivery meanwhile would be lost.
        read: lockWebhooks,
        decide: (webhooks, moment) => ({ ...decide(webhooks, moment), changedUsers: NO_USER }),
        write: (trx, before, { next }) => writeWebhooks(trx, [before, next]),
      }),

    list: () => usingStorageWithRetries(() => readWebhooks(db)),

    claim: (webhookId, decide) =>
      usingStorageWithRetries(() =>
        db.transaction().execute(async (trx) => {
          const webhook = await lockWebhook(trx, webhookId)
          if (webhook === undefined) return undefined
          const delivery = decide(webhook)
          if (delivery !== webhook.delivery) await writeDelivery(trx, webhookId, delivery)
          return { ...webhook, delivery }
        }),
      ),

    record: (webhookId, lease, { delivery, event }) =>
      usingStorageWithRetries(() =>
        db.transaction().execute(async (trx) => {
          const webhook = await lockWebhook(trx, webhookId)
          if (webhook?.delivery.lease?.id !== lease) return false
          // Retention counts on its own.
          await writeDelivery(trx, webhookId, { ...delivery, expired: webhook.delivery.expired })
          if (event !== null) {
            const { clock } = await readChangeMoment(trx)
            await insertAuditEvent(trx, event.entry, { at: clock, outcome: event.outcome })
          }
          return true
        }),
      ),
  }
}
