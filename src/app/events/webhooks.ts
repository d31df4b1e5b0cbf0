/**
 * The use cases of webhooks.
 *
 * Each change is an event of the audit trail. Deliverers learn of it with the next version of the instance.
 */
import type { AuditEvent, AuditFilter } from '../../domain/audit.ts'
import { webhookResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import { type DeliveryOutcome, MAX_COUNTED } from '../../domain/events/delivery.ts'
import {
  addWebhook,
  editWebhook,
  existingWebhook,
  isWanted,
  noteTest,
  removeWebhook,
  rotateSecret,
  type Webhook,
  type WebhookEdit,
  type WebhookSettings,
} from '../../domain/events/webhook.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import type { AuditReader } from '../../domain/ports/audit.ts'
import type { WebhookSigner, WebhookStore, WebhooksChange } from '../../domain/ports/webhooks.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import type { Replica } from '../replica/replica.ts'
import type { SendWebhook } from './webhook-attempts.ts'

/** What a webhook wants is decided here and not by the database: its filter knows types and several resources. */
export const EVERYTHING: AuditFilter = { from: null, to: null, actor: null, resource: null }

/** Those among the next `MAX_COUNTED` events of the trail. */
export async function waitingEvents(
  reader: Pick<AuditReader, 'readAfter'>,
  { delivery: { position }, filter }: Pick<Webhook, 'delivery' | 'filter'>,
): Promise<readonly AuditEvent[]> {
  const { events } = await reader.readAfter(position, { filter: EVERYTHING, limit: MAX_COUNTED })
  return events.map(({ event }) => event).filter((event) => isWanted(filter, event))
}

/** What is sent to test a webhook. It is not in the trail. */
const TEST_ACTION = 'webhook/test'

/** Tests take seconds, and must not hold up much. */
const MAX_TESTS = 5

export interface WebhooksOptions {
  readonly store: WebhookStore
  readonly reader: AuditReader
  readonly signer: WebhookSigner
  readonly send: SendWebhook
  readonly replica: Pick<Replica, 'refreshOrLog'>
  /** Reads certificates (PEM), and returns them in their usual spelling. @throws {DomainError} */
  readonly parseCaCertificates: (pem: string) => string
  readonly newId: () => string
  readonly now: () => Date
}

export interface WebhookView {
  readonly webhook: Webhook
  /** The events that wait, at most so many as are counted; the date of the first. Null: none waits. */
  readonly waiting: { readonly count: number; readonly since: Date } | null
}

export interface WebhookTest {
  readonly outcome: DeliveryOutcome
  readonly event: AuditEvent
  readonly millis: number
}

export interface SecretShown {
  readonly view: WebhookView
  readonly secret: string
}

export type Webhooks = ReturnType<typeof createWebhooks>

/**
 * Every method throws {DomainError} `storage_unavailable`, and `webhook_not_found` if it takes a webhook's id; what changes something also
 * `change_outcome_unknown`. No replica has webhooks in memory, so none has to be waited for.
 */
export function createWebhooks(options: WebhooksOptions) {
  const { store, reader, signer, send, replica, parseCaCertificates, newId, now } = options
  const tests = new Semaphore({
    maxRunning: MAX_TESTS,
    maxWaiting: 0,
    refusal: () => new DomainError('webhook_tests_busy', 'other webhooks are being tested: try again in a few seconds'),
  })

  const checked = <Settings extends Pick<WebhookEdit, 'caCertificates'>>(settings: Settings): Settings => {
    const { caCertificates } = settings
    if (caCertificates === undefined || caCertificates === null) return settings
    try {
      return { ...settings, caCertificates: parseCaCertificates(caCertificates) }
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      throw new DomainError('webhook_invalid', error.message, { cause: error })
    }
  }

  const viewOf = async (webhook: Webhook): Promise<WebhookView> => {
    const events = await waitingEvents(reader, webhook)
    const since = events[0]?.at
    return { webhook, waiting: since === undefined ? null : { count: events.length, since } }
  }

  const change = async <T>(
    actor: Actor,
    webhookId: string,
    decide: (webhooks: readonly Webhook[], moment: ChangeMoment) => WebhooksChange<T>,
  ): Promise<T> => {
    const result = await store.change({ ...actor, resource: webhookResource(webhookId) }, decide)
    await replica.refreshOrLog()
    return result
  }

  const changeOne = (
    actor: Actor,
    webhookId: string,
    decide: (webhooks: readonly Webhook[], moment: ChangeMoment) => readonly Webhook[],
  ): Promise<Webhook> =>
    change(actor, webhookId, (webhooks, moment) => {
      const next = decide(webhooks, moment)
      return { next, result: existingWebhook(next, webhookId) }
    })

  return {
    /**
     * Events after this call are sent.
     * @returns The secret, which is shown this once.
     * @throws {DomainError} `webhook_name_taken`; `webhook_limit_reached`; `webhook_invalid` for the certificates.
     */
    async create(actor: Actor, settings: WebhookSettings): Promise<SecretShown> {
      const webhookId = newId()
      const { secret, sealed: sealedSecret } = await signer.generateSecret(webhookId)
      const facts = { ...checked(settings), webhookId, sealedSecret, position: await reader.latest() }
      const webhook = await changeOne(actor, webhookId, (webhooks, moment) => addWebhook(webhooks, facts, moment))
      return { view: { webhook, waiting: null }, secret }
    },

    get: async (webhookId: string): Promise<WebhookView> => viewOf(existingWebhook(await store.list(), webhookId)),

    async list(): Promise<readonly WebhookView[]> {
      const views: WebhookView[] = []
      for (const webhook of await store.list()) views.push(await viewOf(webhook))
      return views
    },

    /** @throws {DomainError} `webhook_name_taken`; `webhook_invalid`. */
    async edit(actor: Actor, webhookId: string, edit: WebhookEdit): Promise<WebhookView> {
      const next = checked(edit)
      return viewOf(await changeOne(actor, webhookId, (webhooks) => editWebhook(webhooks, webhookId, next)))
    },

    /** @param overlapSeconds For how long the secret before signs besides. @returns The new secret, which is shown this once. */
    async rotateSecret(actor: Actor, webhookId: string, overlapSeconds: number): Promise<SecretShown> {
      const { secret, sealed: sealedSecret } = await signer.generateSecret(webhookId)
      const webhook = await changeOne(actor, webhookId, (webhooks, { clock }) =>
        rotateSecret(webhooks, webhookId, { sealedSecret, overlapSeconds, clock }),
      )
      return { view: await viewOf(webhook), secret }
    },

    /** Sends an event that is not in the trail, as the call is, whether the webhook is enabled or not. @throws {DomainError} `webhook_tests_busy`. */
    test: (actor: Actor, webhookId: string): Promise<WebhookTest> =>
      tests.run(async () => {
        const webhook = await changeOne(actor, webhookId, (webhooks, { date }) => noteTest(webhooks, webhookId, date))
        const event: AuditEvent = {
          eventId: newId(),
          at: now(),
          actor: actor.actor,
          action: TEST_ACTION,
          resource: webhookResource(webhookId),
          outcome: 'ok',
          requestId: actor.requestId,
          clientAddress: actor.clientAddress ?? '',
          reason: '',
          omission: null,
        }
        const from = performance.now()
        const outcome = await send(webhook, event, new AbortController().signal)
        return { outcome, event, millis: Math.round(performance.now() - from) }
      }),

    /** A request that is under way ends by itself. */
    delete: (actor: Actor, webhookId: string) =>
      change(actor, webhookId, (webhooks) => ({ next: removeWebhook(webhooks, webhookId), result: undefined })),
  }
}
