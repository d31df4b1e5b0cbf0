/**
 * `keyturn webhooks list | create | show | update | enable | disable | rotate-secret | test | delete`: where events are sent.
 */
import { create } from '@bufbuild/protobuf'
import { Command } from 'commander'
import { type Webhook, WebhookState } from '../../../gen/iam/event/v2/webhook_pb.js'
import {
  CreateWebhookResponseSchema,
  DeleteWebhookResponseSchema,
  GetWebhookResponseSchema,
  ListWebhooksResponseSchema,
  UpdateWebhookResponseSchema,
} from '../../../gen/iam/event/v2/webhook_service_pb.js'
import { openApi } from '../api-client.ts'
import type { Paint } from '../color.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { ageOf, formatFields, formatMoment, formatTable } from '../table.ts'
import { rotateSecretCommand } from './rotate-webhook-secret-command.ts'
import { testCommand } from './test-webhook-command.ts'
import { everyWebhook, openWebhook, webhookArgument, webhookClient } from './webhook-reference.ts'
import { certificatesFrom, parseReceiver, type SettingOptions, withSettings } from './webhook-settings.ts'

/** The group of commands. */
export function webhooksCommand(io: Io): Command {
  const webhooks = new Command('webhooks')
  webhooks.addCommand(listCommand(io))
  webhooks.addCommand(createCommand(io))
  webhooks.addCommand(showCommand(io))
  webhooks.addCommand(updateCommand(io))
  webhooks.addCommand(enablingCommand(io, 'enable', 'Send events again, from the one on at which it was.'))
  webhooks.addCommand(enablingCommand(io, 'disable', 'Send no events until it is enabled again. They wait.'))
  webhooks.addCommand(rotateSecretCommand(io))
  webhooks.addCommand(testCommand(io))
  webhooks.addCommand(deleteCommand(io))
  return webhooks
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the webhooks by name, and how far behind they are.')
    .action(async (options: RemoteOptions) => {
      const webhooks = await everyWebhook(webhookClient(await openApi(io, options)))
      const response = create(ListWebhooksResponseSchema, { webhooks })
      print(io, options, ListWebhooksResponseSchema, response, (heading) => table(webhooks, heading))
    })
}

function createCommand(io: Io): Command {
  return withSettings(withRemoteOptions(new Command('create')))
    .description('Send events to a receiver from now on, and print the signing secret, this once.')
    .argument('<name>', 'lower case letters, digits and hyphens')
    .argument('<url>', 'https URL of the receiver', parseReceiver)
    .action(async (name: string, url: string, options: RemoteOptions & SettingOptions) => {
      const { type: eventTypes = [], resource: resources = [] } = options
      const caCertificates = (await certificatesFrom(options)) ?? ''
      const client = webhookClient(await openApi(io, options))
      const response = await client.createWebhook({ name, url, caCertificates, eventTypes, resources })
      const fields = [
        ['webhook ID', response.webhook?.webhookId ?? ''],
        ['secret', response.secret],
      ] as const
      print(io, options, CreateWebhookResponseSchema, response, () =>
        [formatFields(fields), 'The secret is not shown again.'].join('\n'),
      )
    })
}

function showCommand(io: Io): Command {
  return withRemoteOptions(new Command('show'))
    .description('Print one webhook, and how delivery goes.')
    .addArgument(webhookArgument())
    .action(async (webhook: string, options: RemoteOptions) => {
      const { client, webhookId } = await openWebhook(io, options, webhook)
      const response = await client.getWebhook({ webhookId })
      print(io, options, GetWebhookResponseSchema, response, () => formatFields(fieldsOf(response.webhook)))
    })
}

interface UpdateOptions extends RemoteOptions, SettingOptions {
  readonly name?: string
  readonly url?: string
  readonly allTypes?: boolean
  readonly allResources?: boolean
}

function updateCommand(io: Io): Command {
  return withSettings(withRemoteOptions(new Command('update')))
    .description('Change the name, the URL or what is sent. What is not named stays.')
    .addArgument(webhookArgument())
    .option('--name <name>', 'another name')
    .option('--url <url>', 'another https URL', parseReceiver)
    .option('--all-types', 'send events of all types again')
    .option('--all-resources', 'send events about all resources again')
    .option('--no-receiver-ca', 'trust the usual authorities again')
    .action(async (webhook: string, options: UpdateOptions) => {
      const { name, url } = options
      const eventTypes = options.allTypes === true ? [] : options.type
      const resources = options.allResources === true ? [] : options.resource
      const caCertificates = await certificatesFrom(options)
      const named = { name, url, ca_certificates: caCertificates, event_types: eventTypes, resources }
      const paths = Object.entries(named).flatMap(([path, value]) => (value === undefined ? [] : [path]))
      if (paths.length === 0) throw new Error('say what to change: --name, --url, --type, --resource or --receiver-ca')
      const { client, webhookId } = await openWebhook(io, options, webhook)
      const response = await client.updateWebhook({
        webhookId,
        name: name ?? '',
        url: url ?? '',
        caCertificates: caCertificates ?? '',
        eventTypes: eventTypes ?? [],
        resources: resources ?? [],
        updateMask: { paths },
      })
      print(io, options, UpdateWebhookResponseSchema, response, () => `updated ${webhook}`)
    })
}

function enablingCommand(io: Io, verb: 'enable' | 'disable', description: string): Command {
  return withRemoteOptions(new Command(verb))
    .description(description)
    .addArgument(webhookArgument())
    .action(async (webhook: string, options: RemoteOptions) => {
      const { client, webhookId } = await openWebhook(io, options, webhook)
      const enabled = verb === 'enable'
      const response = await client.updateWebhook({ webhookId, enabled, updateMask: { paths: ['enabled'] } })
      print(io, options, UpdateWebhookResponseSchema, response, () => `${verb}d ${webhook}`)
    })
}

function deleteCommand(io: Io): Command {
  return withRemoteOptions(new Command('delete'))
    .description('Delete a webhook. What waits for it is not sent.')
    .addArgument(webhookArgument())
    .addOption(yesOption())
    .action(async (webhook: string, options: RemoteOptions & YesOption) => {
      const { client, webhookId } = await openWebhook(io, options, webhook)
      await confirm(io, options, `Delete the webhook ${webhook}? What waits for it is not sent.`)
      const response = await client.deleteWebhook({ webhookId })
      print(io, options, DeleteWebhookResponseSchema, response, () => `deleted ${webhook}`)
    })
}

function table(webhooks: readonly Webhook[], heading: Paint): string {
  return formatTable(
    ['WEBHOOK ID', 'NAME', 'STATE', 'WAITING', 'LAST SUCCESS', 'URL'],
    webhooks.map(({ webhookId, name, state, delivery, url }) => [
      webhookId,
      name,
      stateOf(state),
      waitingOf(delivery),
      delivery?.lastSuccessDate === undefined ? 'never' : ageOf(delivery.lastSuccessDate),
      url,
    ]),
    heading,
  )
}

function stateOf(state: WebhookState): string {
  return WebhookState[state].toLowerCase()
}

function waitingOf(delivery: Webhook['delivery']): string {
  const { waitingEvents = 0, waitingSinceDate } = delivery ?? {}
  return waitingSinceDate === undefined ? '0' : `${waitingEvents} for ${ageOf(waitingSinceDate)}`
}

function fieldsOf(webhook: Webhook | undefined): [string, string][] {
  if (webhook === undefined) return []
  const { delivery, eventTypes, resources, previousSecretExpirationDate: secretUntil } = webhook
  const moment = (date: Parameters<typeof formatMoment>[0] | undefined) =>
    date === undefined ? '-' : formatMoment(date)
  const listed = (names: readonly string[]) => (names.length === 0 ? 'all' : names.join(' '))
  return [
    ['webhook ID', webhook.webhookId],
    ['name', webhook.name],
    ['URL', webhook.url],
    ['state', stateOf(webhook.state)],
    ['types', listed(eventTypes)],
    ['resources', listed(resources)],
    ['created', moment(webhook.creationDate)],
    ...(secretUntil === undefined ? [] : [['old secret until', moment(secretUntil)] satisfies [string, string]]),
    ['waiting', waitingOf(delivery)],
    ['last success', moment(delivery?.lastSuccessDate)],
    [
      'last failure',
      delivery?.lastFailureDate === undefined ? '-' : `${moment(delivery.lastFailureDate)} ${delivery.lastFailure}`,
    ],
    ['next attempt', moment(delivery?.nextAttemptDate)],
    ['given up', String(delivery?.givenUpEvents ?? 0)],
    ['expired', String(delivery?.expiredEvents ?? 0)],
  ]
}
