/** The `WebhookSigner`: signing secrets, sealed at rest, and signatures of Standard Webhooks 1.0 with them (HMAC-SHA256). */
import { createHmac, randomBytes } from 'node:crypto'
import type { WebhookSigner } from '../domain/ports/webhooks.ts'
import type { MasterKeys } from './master-keys.ts'
import { createKeySealer } from './sealed-key.ts'

/** The prefix by which secret scanners and people recognise a leaked secret. */
const PREFIX = 'whsec_'

/** Between 24 and 64, as Standard Webhooks has it. */
const SECRET_BYTES = 32

export function createWebhookSigner(masterKeys: MasterKeys): WebhookSigner {
  const sealer = createKeySealer(masterKeys)
  return {
    async generateSecret(webhookId) {
      const bytes = randomBytes(SECRET_BYTES)
      try {
        const sealed = await sealer.seal(bytes, { kind: 'webhook_secret', webhookId })
        return { secret: PREFIX + bytes.toString('base64'), sealed }
      } finally {
        bytes.fill(0)
      }
    },

    async headersFor({ id, at, body }, { webhookId, sealed }) {
      const timestamp = String(Math.floor(at.getTime() / 1000))
      const sign = (secret: Buffer) =>
        createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
      const signatures: string[] = []
      for (const each of sealed)
        signatures.push(`v1,${await sealer.use(each, { kind: 'webhook_secret', webhookId }, sign)}`)
      return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
    },
  }
}
