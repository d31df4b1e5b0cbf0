/**
 * Webhooks for commands: all of them, and one by its name or id.
 */
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import { Argument } from 'commander'
import type { Webhook } from '../../../gen/iam/event/v2/webhook_pb.js'
import { WebhookService } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import { openApi } from '../api-client.ts'
import type { Io } from '../io.ts'
import type { RemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'

type WebhookClient = Client<typeof WebhookService>

/** The argument of commands about one webhook. */
export function webhookArgument(): Argument {
  return new Argument('<webhook>', 'name or id')
}

/** A client of the service. */
export function webhookClient(api: Transport): WebhookClient {
  return createClient(WebhookService, api)
}

/** All webhooks, by name. */
export function everyWebhook(client: WebhookClient): Promise<Webhook[]> {
  return everyItemOf(
    (page) => client.listWebhooks(page),
    (response) => response.webhooks,
  )
}

/**
 * A client, and the id of a webhook from its exact name or id.
 *
 * @throws {Error} if no webhook has the name. An id is not checked: the call that uses it refuses an unknown one.
 */
export async function openWebhook(
  io: Io,
  options: RemoteOptions,
  webhook: string,
): Promise<{ readonly client: WebhookClient; readonly webhookId: string }> {
  const client = webhookClient(await openApi(io, options))
  if (isUuid(webhook.toLowerCase())) return { client, webhookId: webhook.toLowerCase() }
  const found = (await everyWebhook(client)).find(({ name }) => name === webhook)
  if (found !== undefined) return { client, webhookId: found.webhookId }
  throw new Error(`there is no webhook ${JSON.stringify(webhook)}: "keyturn webhooks list" prints those that there are`)
}
