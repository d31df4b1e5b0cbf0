/** `iam.event.v2.WebhookService`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type WebhookDeliverySchema, type WebhookSchema, WebhookState } from '../../../gen/iam/event/v2/webhook_pb.js'
import type { UpdateWebhookRequest, WebhookService } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import type { Webhooks, WebhookView } from '../../app/events/webhooks.ts'
import type { Disabled, EventFilter, WebhookEdit } from '../../domain/events/webhook.ts'
import { actorOf } from '../authorization/actor.ts'
import { answering, done, listing } from '../authorization/methods.ts'
import { fromDate, maskedBy, required } from '../messages/fields.ts'
import { listFromMemory } from '../messages/paging.ts'

/** For how long two secrets sign unless a request says so. */
const DEFAULT_OVERLAP_SECONDS = 86_400

const STATES = {
  by_administrator: WebhookState.DISABLED,
  gone: WebhookState.GONE,
} as const satisfies Readonly<Record<Disabled, WebhookState>>

const answer = answering((view: WebhookView) => ({ webhook: fromWebhook(view) }))

export function webhookService(webhooks: Webhooks): ServiceImpl<typeof WebhookService> {
  return {
    async createWebhook({ name, url, caCertificates, eventTypes: types, resources }, context) {
      const settings = { name, url, caCertificates: caCertificates || null, filter: { types, resources } }
      const { view, secret } = await webhooks.create(actorOf(context), settings)
      return { webhook: fromWebhook(view), secret }
    },

    getWebhook: answer((_actor, { webhookId }) => webhooks.get(webhookId)),
    listWebhooks: listing('webhooks', fromWebhook, async (_actor, req) =>
      listFromMemory(req, await webhooks.list(), ({ webhook }) => webhook.name),
    ),
    updateWebhook: answer(async (actor, req) => webhooks.edit(actor, req.webhookId, toEdit(req))),

    async rotateWebhookSecret(req, context) {
      const overlap = req.overlapSeconds ?? DEFAULT_OVERLAP_SECONDS
      const { view, secret } = await webhooks.rotateSecret(actorOf(context), req.webhookId, overlap)
      return { webhook: fromWebhook(view), secret }
    },

    async testWebhook(req, context) {
      const { outcome, event, millis } = await webhooks.test(actorOf(context), req.webhookId)
      const delivered = outcome.kind === 'delivered'
      const failure = delivered ? '' : outcome.reason
      return { delivered, failure, eventId: event.eventId, durationMilliseconds: millis }
    },

    deleteWebhook: done((actor, { webhookId }) => webhooks.delete(actor, webhookId)),
  }
}

function toEdit(req: UpdateWebhookRequest): WebhookEdit {
  const filter: { -readonly [Part in keyof EventFilter]?: EventFilter[Part] } = {}
  return maskedBy<WebhookEdit>(req.updateMask, {
    name: () => ({ name: required(req.name, 'name') }),
    url: () => ({ url: required(req.url, 'url') }),
    ca_certificates: () => ({ caCertificates: req.caCertificates || null }),
    event_types: () => ({ filter: Object.assign(filter, { types: req.eventTypes }) }),
    resources: () => ({ filter: Object.assign(filter, { resources: req.resources }) }),
    enabled: () => ({ enabled: req.enabled }),
  })
}

function fromWebhook(view: WebhookView): MessageInitShape<typeof WebhookSchema> {
  const { webhookId, name, url, caCertificates, filter, disabled, secrets, createdAt, testedAt } = view.webhook
  return {
    webhookId,
    name,
    url,
    caCertificates: caCertificates ?? '',
    eventTypes: [...filter.types],
    resources: [...filter.resources],
    state: disabled === null ? WebhookState.ENABLED : STATES[disabled],
    creationDate: timestampFromDate(createdAt),
    ...fromDate('lastTestDate', testedAt),
    ...fromDate('previousSecretExpirationDate', secrets.previous?.expiresAt ?? null),
    delivery: fromDelivery(view),
  }
}

function fromDelivery({ webhook: { delivery }, waiting }: WebhookView): MessageInitShape<typeof WebhookDeliverySchema> {
  const { lastSuccessAt, lastFailure, failing, nextAttemptAt, givenUp, expired } = delivery
  return {
    ...fromDate('lastSuccessDate', lastSuccessAt),
    lastFailure: lastFailure?.reason ?? '',
    ...fromDate('lastFailureDate', lastFailure?.at ?? null),
    failures: failing?.failures ?? 0,
    ...fromDate('nextAttemptDate', nextAttemptAt),
    waitingEvents: waiting?.count ?? 0,
    ...fromDate('waitingSinceDate', waiting?.since ?? null),
    givenUpEvents: BigInt(givenUp),
    expiredEvents: BigInt(expired),
  }
}
