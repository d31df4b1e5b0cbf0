/** Makes the webhooks, and delivers events to them apart from requests. */
import { randomUUID as newId } from 'node:crypto'
import { WebhookAttempts } from '../app/events/webhook-attempts.ts'
import { WebhookDeliverer } from '../app/events/webhook-deliverer.ts'
import { Webhooks, type WebhooksOptions } from '../app/events/webhooks.ts'
import type { Replica } from '../app/replica/replica.ts'
import type { Config } from '../config/config.ts'
import { parseCaCertificates } from '../crypto/issuer-key.ts'
import type { MasterKeys } from '../crypto/master-keys.ts'
import { createWebhookSigner } from '../crypto/webhook-signer.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { createAddressPolicy } from '../outbound/address-policy.ts'
import { createSendHttps } from '../outbound/https-request.ts'
import { createWebhookSender } from '../outbound/webhook-sender.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import type { CleanupStack } from './cleanup-stack.ts'
import { systemClock as clock, systemTime as now } from './system-clock.ts'

interface Options extends Pick<WebhooksOptions, 'store' | 'reader'> {
  readonly config: Config
  readonly log: Log
  readonly stack: CleanupStack
  readonly replica: Replica
  readonly masterKeys: MasterKeys
  readonly issuer: string
  readonly metrics: Pick<Metrics, 'observeWebhooks'>
}

export function startWebhooks({ config, log, stack, masterKeys, issuer, metrics, ...parts }: Options): Webhooks {
  const { replica } = parts
  const signer = createWebhookSigner(masterKeys)
  const send = createSendHttps({
    allows: createAddressPolicy(config.outboundNetworks),
    setting: 'KEYTURN_OUTBOUND_NETWORKS',
    authorityHint: '--receiver-ca, ca_certificates',
  })
  const attempts = new WebhookAttempts({ signer, sender: createWebhookSender(send), issuer, now, log })
  const shared = { ...parts, attempts, newId, now }
  const deliverer = new WebhookDeliverer({ ...shared, version: () => replica.state.version, clock, log })
  stack.defer(() => deliverer.stop())
  deliverer.start()
  metrics.observeWebhooks(() => deliverer.status)
  return new Webhooks({ ...shared, signer, parseCaCertificates })
}
