/**
 * `keyturn webhooks test`: sends an event now.
 */
import { Command } from 'commander'
import { TestWebhookResponseSchema } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { openWebhook, webhookArgument } from './webhook-reference.ts'

/** The command. */
export function testCommand(io: Io): Command {
  return withRemoteOptions(new Command('test'))
    .description(
      'Send an event of the type keyturn.webhook.test now, and say what came of it. It fails if it was not delivered.',
    )
    .addArgument(webhookArgument())
    .action(async (webhook: string, options: RemoteOptions) => {
      const { client, webhookId } = await openWebhook(io, options, webhook)
      const response = await client.testWebhook({ webhookId })
      const { delivered, failure, eventId, durationMilliseconds } = response
      if (!delivered) throw new Error(`the receiver ${failure}`)
      print(
        io,
        options,
        TestWebhookResponseSchema,
        response,
        () => `delivered ${eventId} in ${durationMilliseconds} ms`,
      )
    })
}
