/**
 * Makes the webhooks and their delivery.
 */
import { randomUUID } from 'node:crypto'
import { WebhookAttempts } from '../app/events/webhook-attempts.ts'
import { WebhookDeliverer } from '../app/events/webhook-deliverer.ts'
import { Webhooks } from '../app/events/webhooks.ts'
import { parseCaCertificates } from '../crypto/issuer-key.ts'
import { createWebhookSigner } from '../crypto/webhook-signer.ts'
import { createAddressPolicy } from '../outbound/address-policy.ts'
import { createSendHttps } from '../outbound/https-request.ts'
import { createWebhookSender } from '../outbound/webhook-sender.ts'
import { createAuditReader } from '../storage/audit/audit-reader.ts'
import { createWebhookStore } from '../storage/events/webhook-store.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

/** What manages webhooks, and delivers events to them. Delivery runs apart from requests. */
export function startWebhooks(options: ServicesOptions): Webhooks {
  const { config, log, stack, database, masterKeys, replica, rows, now, baseUrl, tracing, metrics } = options
  const store = rows.around(createWebhookStore(database))
  const reader = createAuditReader(database)
  const signer = createWebhookSigner(masterKeys)
  const send = createSendHttps({
    allows: createAddressPolicy(config.outboundNetworks),
    setting: 'KEYTURN_OUTBOUND_NETWORKS',
    authorityHint: '--receiver-ca, ca_certificates',
  })
  const attempts = new WebhookAttempts({ signer, sender: createWebhookSender(send), issuer: baseUrl, now, log })
  const newId = randomUUID
  const version = () => replica.status().version
  const clock = systemClock
  const deliverer = new WebhookDeliverer({ store, reader, attempts, replica, version, clock, now, newId, log })
  stack.defer(() => deliverer.stop())
  deliverer.start()
  metrics.observeWebhooks(() => deliverer.status)
  const calls = rows.around(tracing.calls('WebhookStore', createWebhookStore(database)))
  return new Webhooks({ store: calls, reader, signer, attempts, replica, parseCaCertificates, newId, now })
}
