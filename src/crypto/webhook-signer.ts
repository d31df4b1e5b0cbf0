/**
 * The `WebhookSigner`: signing secrets, sealed at rest, and signatures of Standard Webhooks 1.0 with them (HMAC-SHA256).
 *
 * The protected header of a sealed secret binds the webhook, so that one moved to another row of the database does not open there.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { WebhookSigner } from '../domain/ports/webhooks.ts'
import type { MasterKeys } from './master-keys.ts'
import { CannotOpen, openJwe, sealJwe } from './sealed-jwe.ts'

/** The prefix by which secret scanners and people recognise a leaked secret. */
const PREFIX = 'whsec_'

/** Between 24 and 64, as Standard Webhooks has it. */
const SECRET_BYTES = 32

/** The content type of the JWE, which is that of no other sealed key. */
const CTY = 'webhook-secret'

export function createWebhookSigner(masterKeys: MasterKeys): WebhookSigner {
  return {
    async generateSecret(webhookId) {
      const bytes = randomBytes(SECRET_BYTES)
      try {
        return { secret: PREFIX + bytes.toString('base64'), sealed: await seal(bytes, webhookId, masterKeys) }
      } finally {
        bytes.fill(0)
      }
    },

    async headersFor({ id, at, body }, { webhookId, sealed }) {
      const timestamp = String(Math.floor(at.getTime() / 1000))
      const signatures: string[] = []
      for (const each of sealed) {
        const sign = (secret: Buffer) =>
          createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
        signatures.push(`v1,${await withWebhookSecret(each, webhookId, { masterKeys, use: sign })}`)
      }
      return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
    },
  }
}

/** Seals a secret with the first master key. @throws {Error} like `withWebhookSecret`. */
export function resealWebhookSecret(sealed: string, webhookId: string, masterKeys: MasterKeys): Promise<string> {
  return withWebhookSecret(sealed, webhookId, { masterKeys, use: (secret) => seal(secret, webhookId, masterKeys) })
}

/**
 * Passes a secret to `use`, and wipes it afterwards.
 *
 * @throws {Error} if no master key opens it, or it is that of another webhook.
 */
export async function withWebhookSecret<T>(
  sealed: string,
  webhookId: string,
  {
    masterKeys,
    use,
  }: { readonly masterKeys: MasterKeys; readonly use: (secret: Buffer<ArrayBuffer>) => T | Promise<T> },
): Promise<T> {
  try {
    return await openJwe(sealed, masterKeys, (secret, { cty, webhook_id }) => {
      if (cty !== CTY || webhook_id !== webhookId) throw new CannotOpen('it was sealed for something else')
      return use(secret)
    })
  } catch (cause) {
    if (!(cause instanceof CannotOpen)) throw cause
    throw new Error(`the signing secret of webhook ${webhookId} cannot be opened: ${cause.message}`, { cause })
  }
}

function seal(secret: Uint8Array<ArrayBuffer>, webhookId: string, masterKeys: MasterKeys): Promise<string> {
  return sealJwe(secret, { cty: CTY, webhook_id: webhookId }, masterKeys)
}
