/**
 * `keyturn webhooks`: where events are sent.
 */
import { createClient, type Transport } from '@connectrpc/connect'
import { InvalidArgumentError, Option } from 'commander'
import { type Webhook, WebhookState } from '../../../gen/iam/event/v2/webhook_pb.js'
import { WebhookService } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import { call, type Declaration, group, list, type Parameter } from '../api-command.ts'
import { everyItemOf } from '../pages.ts'
import { ageOf, formatFields, formatMoment, momentOf } from '../table.ts'
import { readTextFile } from '../text-file.ts'
import { durationOption } from '../when.ts'

interface SettingOptions {
  readonly type?: string[]
  readonly resource?: string[]
  /** A file. False: none any more. */
  readonly receiverCa?: string | false
}

interface UpdateOptions extends SettingOptions {
  readonly name?: string
  readonly url?: string
  readonly allTypes?: boolean
  readonly allResources?: boolean
}

const { method: Methods } = WebhookService

/** The argument for a webhook. An id is not checked: the call that uses it refuses an unknown one. */
const WEBHOOK = { placeholder: 'webhook', description: 'name or id', resolve: resolveWebhook } satisfies Parameter

const SETTINGS = [
  new Option(
    '--type <types...>',
    'types of events to send; with .* at the end, all that begin so (default: all), such as keyturn.rotation.*',
  ),
  new Option(
    '--resource <resources...>',
    'resources about which to send events, with their parts (default: all), such as users',
  ),
  new Option('--receiver-ca <file>', 'certificates (PEM) that are trusted for the receiver, instead of the usual ones'),
]

/** The group of commands. */
export const webhooksCommand = group('webhooks', '', [
  list({
    name: 'list',
    description: 'List the webhooks by name, and how far behind they are.',
    method: Methods.listWebhooks,
    items: 'webhooks',
    heading: ['WEBHOOK ID', 'NAME', 'STATE', 'WAITING', 'LAST SUCCESS', 'URL'],
    row: ({ webhookId, name, state, delivery, url }) => [
      webhookId,
      name,
      WebhookState[state].toLowerCase(),
      waitingOf(delivery),
      delivery?.lastSuccessDate === undefined ? 'never' : ageOf(delivery.lastSuccessDate),
      url,
    ],
  }),
  call({
    name: 'create',
    description: 'Send events to a receiver from now on, and print the signing secret, this once.',
    takes: {
      name: { description: 'lower case letters, digits and hyphens' },
      url: { description: 'https URL of the receiver', check: parseReceiver },
    },
    options: SETTINGS,
    method: Methods.createWebhook,
    request: async (named, { options }: { readonly options: SettingOptions }) => ({
      ...named,
      caCertificates: (await certificatesFrom(options)) ?? '',
      eventTypes: options.type ?? [],
      resources: options.resource ?? [],
    }),
    text: ({ webhook, secret }) =>
      shownOnce([
        ['webhook ID', webhook?.webhookId ?? ''],
        ['secret', secret],
      ]),
  }),
  call({
    name: 'show',
    description: 'Print one webhook, and how delivery goes.',
    takes: { webhookId: WEBHOOK },
    method: Methods.getWebhook,
    text: ({ webhook }) => formatFields(fieldsOf(webhook)),
  }),
  call({
    name: 'update',
    description: 'Change the name, the URL or what is sent. What is not named stays.',
    takes: { webhookId: WEBHOOK },
    options: [
      ...SETTINGS,
      new Option('--name <name>', 'another name'),
      new Option('--url <url>', 'another https URL').argParser(parseReceiver),
      new Option('--all-types', 'send events of all types again'),
      new Option('--all-resources', 'send events about all resources again'),
      new Option('--no-receiver-ca', 'trust the usual authorities again'),
    ],
    method: Methods.updateWebhook,
    async request({ webhookId }, { options }: { readonly options: UpdateOptions }) {
      const { name, url } = options
      const eventTypes = options.allTypes === true ? [] : options.type
      const resources = options.allResources === true ? [] : options.resource
      const caCertificates = await certificatesFrom(options)
      const named = { name, url, ca_certificates: caCertificates, event_types: eventTypes, resources }
      const paths = Object.entries(named).flatMap(([path, value]) => (value === undefined ? [] : [path]))
      if (paths.length === 0) throw new Error('say what to change: --name, --url, --type, --resource or --receiver-ca')
      return {
        webhookId,
        name: name ?? '',
        url: url ?? '',
        caCertificates: caCertificates ?? '',
        eventTypes: eventTypes ?? [],
        resources: resources ?? [],
        updateMask: { paths },
      }
    },
    text: (_, __, { texts }) => `updated ${texts.webhookId}`,
  }),
  enabling('enable', 'Send events again, from the one on at which it was.'),
  enabling('disable', 'Send no events until it is enabled again. They wait.'),
  call({
    name: 'rotate-secret',
    description: 'Replace the signing secret and print the new one, this once. For a time both sign.',
    takes: { webhookId: WEBHOOK },
    options: [durationOption('--overlap', 'for how long the old secret signs besides, at most 7d (default: 24h)')],
    method: Methods.rotateWebhookSecret,
    request: (webhook, { options: { overlap } }: { readonly options: { readonly overlap?: bigint } }) => ({
      ...webhook,
      ...(overlap === undefined ? {} : { overlapSeconds: Number(overlap) }),
    }),
    text({ webhook, secret }) {
      const until = webhook?.previousSecretExpirationDate
      return shownOnce([
        ['secret', secret],
        ['old secret until', until === undefined ? 'now' : formatMoment(until)],
      ])
    },
  }),
  call({
    name: 'test',
    description:
      'Send an event of the type keyturn.webhook.test now, and say what came of it. It fails if it was not delivered.',
    takes: { webhookId: WEBHOOK },
    method: Methods.testWebhook,
    async finish({ delivered, failure }) {
      if (!delivered) throw new Error(`the receiver ${failure}`)
      return undefined
    },
    text: ({ eventId, durationMilliseconds }) => `delivered ${eventId} in ${durationMilliseconds} ms`,
  }),
  call({
    name: 'delete',
    description: 'Delete a webhook. What waits for it is not sent.',
    takes: { webhookId: WEBHOOK },
    method: Methods.deleteWebhook,
    question: (_, { texts }) => `Delete the webhook ${texts.webhookId}? What waits for it is not sent.`,
    text: (_, __, { texts }) => `deleted ${texts.webhookId}`,
  }),
])

function enabling(verb: 'enable' | 'disable', description: string): Declaration {
  return call({
    name: verb,
    description,
    takes: { webhookId: WEBHOOK },
    method: Methods.updateWebhook,
    request: (webhook) => ({ ...webhook, enabled: verb === 'enable', updateMask: { paths: ['enabled'] } }),
    text: (_, __, { texts }) => `${verb}d ${texts.webhookId}`,
  })
}

/** The id of a webhook, from its exact name or id. @throws {Error} if no webhook has the name. */
async function resolveWebhook(webhook: string, api: Transport): Promise<string> {
  if (isUuid(webhook.toLowerCase())) return webhook.toLowerCase()
  const client = createClient(WebhookService, api)
  const all = await everyItemOf(
    (page) => client.listWebhooks(page),
    (response) => response.webhooks,
  )
  const found = all.find(({ name }) => name === webhook)
  if (found !== undefined) return found.webhookId
  throw new Error(`there is no webhook ${JSON.stringify(webhook)}: "keyturn webhooks list" prints those that there are`)
}

/** The certificates that the options name; undefined if they name none. */
async function certificatesFrom({ receiverCa }: SettingOptions): Promise<string | undefined> {
  if (receiverCa === undefined) return undefined
  return receiverCa === false ? '' : await readTextFile(receiverCa)
}

/** The URL of a receiver. @throws {InvalidArgumentError} */
function parseReceiver(text: string): string {
  const { protocol, username, password } = URL.canParse(text) ? new URL(text) : {}
  if (protocol === 'https:' && username === '' && password === '') return text
  throw new InvalidArgumentError('It is an https URL without a user.')
}

function shownOnce(fields: readonly (readonly [string, string])[]): string {
  return `${formatFields(fields)}\nThe secret is not shown again.`
}

function waitingOf(delivery: Webhook['delivery']): string {
  const { waitingEvents = 0, waitingSinceDate } = delivery ?? {}
  return waitingSinceDate === undefined ? '0' : `${waitingEvents} for ${ageOf(waitingSinceDate)}`
}

function fieldsOf(webhook: Webhook | undefined): [string, string][] {
  if (webhook === undefined) return []
  const { delivery, eventTypes, resources, previousSecretExpirationDate: secretUntil } = webhook
  const listed = (names: readonly string[]) => (names.length === 0 ? 'all' : names.join(' '))
  const failedAt = delivery?.lastFailureDate
  return [
    ['webhook ID', webhook.webhookId],
    ['name', webhook.name],
    ['URL', webhook.url],
    ['state', WebhookState[webhook.state].toLowerCase()],
    ['types', listed(eventTypes)],
    ['resources', listed(resources)],
    ['created', momentOf(webhook.creationDate)],
    ...(secretUntil === undefined ? [] : [['old secret until', momentOf(secretUntil)] satisfies [string, string]]),
    ['waiting', waitingOf(delivery)],
    ['last success', momentOf(delivery?.lastSuccessDate)],
    ['last failure', failedAt === undefined ? '-' : `${formatMoment(failedAt)} ${delivery?.lastFailure}`],
    ['next attempt', momentOf(delivery?.nextAttemptDate)],
    ['given up', String(delivery?.givenUpEvents ?? 0)],
    ['expired', String(delivery?.expiredEvents ?? 0)],
  ]
}
