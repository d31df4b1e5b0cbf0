/** One attempt to hand an event to a webhook: what is sent, and signed with which secrets. */
import type { AuditEvent } from '../../domain/audit.ts'
import { CLOUD_EVENT_TYPE, toCloudEvent } from '../../domain/events/cloud-event.ts'
import type { DeliveryOutcome } from '../../domain/events/delivery.ts'
import { signingSecrets, type Webhook } from '../../domain/events/webhook.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { WebhookSigner } from '../../domain/ports/webhooks.ts'

/** Posts to receivers. `outbound/` has one. */
interface WebhookSender {
  /** Takes seconds at most. @param signal Aborts it. @throws The reason of the signal. */
  post(
    webhook: Pick<Webhook, 'url' | 'caCertificates'>,
    message: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
    signal: AbortSignal,
  ): Promise<DeliveryOutcome>
}

export interface WebhookAttemptsOptions {
  readonly signer: Pick<WebhookSigner, 'headersFor'>
  readonly sender: WebhookSender
  readonly issuer: string
  readonly now: () => Date
  readonly log: Log
}

/** Takes seconds at most. @throws The reason of the signal, if that aborted it. */
export type SendWebhook = (webhook: Webhook, event: AuditEvent, signal: AbortSignal) => Promise<DeliveryOutcome>

export function createWebhookAttempts({ signer, sender, issuer, now, log }: WebhookAttemptsOptions): SendWebhook {
  return async (webhook, event, signal) => {
    const { webhookId, name, secrets } = webhook
    const body = JSON.stringify(toCloudEvent(event, issuer))
    const at = now()
    let signed: Readonly<Record<string, string>>
    try {
      signed = await signer.headersFor(
        { id: event.eventId, at, body },
        { webhookId, sealed: signingSecrets(secrets, at) },
      )
    } catch (error) {
      log.error({ err: error, webhook: name }, 'an event cannot be signed')
      return { kind: 'unavailable', reason: 'is not sent to: the signing secret cannot be opened with the master keys' }
    }
    try {
      return await sender.post(webhook, { headers: { 'content-type': CLOUD_EVENT_TYPE, ...signed }, body }, signal)
    } catch (error) {
      signal.throwIfAborted()
      log.error({ err: error, webhook: name }, 'sending an event failed unexpectedly')
      return { kind: 'unavailable', reason: 'is not sent to: an unexpected error, which is in the log of the server' }
    }
  }
}
