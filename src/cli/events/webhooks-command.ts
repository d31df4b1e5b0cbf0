/**
 * `keyturn webhooks`: where events are sent.
 */
import { WebhookService } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import { call, type Declaration, group, list, namedFields } from '../commands.ts'
import { certificatesFrom } from '../files.ts'
import { named } from '../identities/references.ts'
import { durationOption, flag, option, parseHttpsUrl } from '../options.ts'

const { method: Methods } = WebhookService

const WEBHOOK = named('webhook', [Methods.listWebhooks, 'webhooks'], {
  nameAndId: ({ name, webhookId }) => [name, webhookId],
  lister: 'webhooks list',
})

const SETTINGS = {
  type: option<string[] | undefined>(
    '--type <types...>',
    'types of events to send; with .* at the end, all that begin so (default: all), such as keyturn.rotation.*',
  ),
  resource: option<string[] | undefined>(
    '--resource <resources...>',
    'resources about which to send events, with their parts (default: all), such as users',
  ),
  /** False: the usual authorities again. */
  receiverCa: option<string | false | undefined>(
    '--receiver-ca <file>',
    'certificates (PEM) that are trusted for the receiver, instead of the usual ones',
  ),
}

export const webhooksCommand = group('webhooks', '', [
  list(Methods.listWebhooks, 'webhooks', {
    description: 'List the webhooks by name. "show" says how delivery goes.',
    columns: ['webhookId', 'name', 'state', 'url'],
  }),
  call('create', Methods.createWebhook, {
    description: 'Send events to a receiver from now on, and print the signing secret, this once.',
    takes: {
      name: { description: 'lower case letters, digits and hyphens' },
      url: { description: 'https URL of the receiver', check: parseHttpsUrl },
    },
    options: SETTINGS,
    request: async (named, { options }) => ({
      ...named,
      caCertificates: (await certificatesFrom(options.receiverCa)) ?? '',
      eventTypes: options.type ?? [],
      resources: options.resource ?? [],
    }),
    text: 'fields',
    note: () => 'the secret is not shown again',
  }),
  call('show', Methods.getWebhook, {
    description: 'Print one webhook, and how delivery goes.',
    takes: { webhookId: WEBHOOK },
    text: 'fields',
  }),
  call('update', Methods.updateWebhook, {
    description: 'Change the name, the URL or what is sent. What is not named stays.',
    takes: { webhookId: WEBHOOK },
    options: {
      ...SETTINGS,
      name: option('--name <name>', 'another name'),
      url: option('--url <url>', 'another https URL').argParser(parseHttpsUrl),
      allTypes: flag('--all-types', 'send events of all types again'),
      allResources: flag('--all-resources', 'send events about all resources again'),
      noReceiverCa: flag('--no-receiver-ca', 'trust the usual authorities again'),
    },
    async request({ webhookId }, { options: { name, url, type, allTypes, resource, allResources, receiverCa } }) {
      const { fields, updateMask } = namedFields({
        name,
        url,
        caCertificates: await certificatesFrom(receiverCa),
        eventTypes: allTypes === true ? [] : type,
        resources: allResources === true ? [] : resource,
      })
      if (updateMask.paths.length > 0) return { webhookId, ...fields, updateMask }
      throw new Error('say what to change: --name, --url, --type, --resource or --receiver-ca')
    },
  }),
  enabling('enable', 'Send events again, from the one on at which it was.'),
  enabling('disable', 'Send no events until it is enabled again. They wait.'),
  call('rotate-secret', Methods.rotateWebhookSecret, {
    description: 'Replace the signing secret and print the new one, this once. For a time both sign.',
    takes: { webhookId: WEBHOOK },
    options: {
      overlap: durationOption('--overlap', 'for how long the old secret signs besides, at most 7d (default: 24h)'),
    },
    request: (webhook, { options: { overlap } }) => ({
      ...webhook,
      ...(overlap === undefined ? {} : { overlapSeconds: Number(overlap) }),
    }),
    text: 'fields',
    note: () => 'the secret is not shown again',
  }),
  call('test', Methods.testWebhook, {
    description:
      'Send an event of the type keyturn.webhook.test now, and say what came of it. It fails if it was not delivered.',
    takes: { webhookId: WEBHOOK },
    async send(request, _, { api }) {
      const response = await api.call(Methods.testWebhook, request)
      if (!response.delivered) throw new Error(`the receiver ${response.failure}`)
      return response
    },
    text: ({ eventId, durationMilliseconds }) => `delivered ${eventId} in ${durationMilliseconds} ms`,
  }),
  call('delete', Methods.deleteWebhook, {
    description: 'Delete a webhook. What waits for it is not sent.',
    takes: { webhookId: WEBHOOK },
    question: (_, { texts }) => `Delete the webhook ${texts.webhookId}? What waits for it is not sent.`,
  }),
])

function enabling(verb: 'enable' | 'disable', description: string): Declaration {
  return call(verb, Methods.updateWebhook, {
    description,
    takes: { webhookId: WEBHOOK },
    request: (webhook) => ({ ...webhook, enabled: verb === 'enable', updateMask: { paths: ['enabled'] } }),
  })
}
