/**
 * `keyturn webhooks rotate-secret`: a new signing secret, printed this once.
 */
import { Command } from 'commander'
import { RotateWebhookSecretResponseSchema } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { formatFields, formatMoment } from '../table.ts'
import { durationOption } from '../when.ts'
import { openWebhook, webhookArgument } from './webhook-reference.ts'

interface RotateOptions extends RemoteOptions {
  readonly overlap?: bigint
}

/** The command. */
export function rotateSecretCommand(io: Io): Command {
  return withRemoteOptions(new Command('rotate-secret'))
    .description('Replace the signing secret and print the new one, this once. For a time both sign.')
    .addArgument(webhookArgument())
    .addOption(durationOption('--overlap', 'for how long the old secret signs besides, at most 7d (default: 24h)'))
    .action(async (webhook: string, options: RotateOptions) => {
      const { client, webhookId } = await openWebhook(io, options, webhook)
      const { overlap } = options
      const overlapSeconds = overlap === undefined ? {} : { overlapSeconds: Number(overlap) }
      const response = await client.rotateWebhookSecret({ webhookId, ...overlapSeconds })
      const until = response.webhook?.previousSecretExpirationDate
      print(io, options, RotateWebhookSecretResponseSchema, response, () =>
        [
          formatFields([
            ['secret', response.secret],
            ['old secret until', until === undefined ? 'now' : formatMoment(until)],
          ]),
          'The secret is not shown again.',
        ].join('\n'),
      )
    })
}
