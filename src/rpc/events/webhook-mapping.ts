/**
 * Webhooks on the wire, in both directions.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  WebhookDeliverySchema,
  WebhookSchema,
  WebhookState,
  type Webhook as WireWebhook,
  type WebhookDelivery as WireWebhookDelivery,
} from '../../../gen/iam/event/v2/webhook_pb.js'
import type {
  CreateWebhookRequest,
  TestWebhookResponse,
  UpdateWebhookRequest,
} from '../../../gen/iam/event/v2/webhook_service_pb.js'
import type { WebhookTest, WebhookView } from '../../app/events/webhooks.ts'
import type { Disabled, WebhookEdit, WebhookSettings } from '../../domain/events/webhook.ts'
import { fromDate, pathsOf } from '../messages/fields.ts'
import { invalidField } from '../messages/violations.ts'

const STATES = {
  by_administrator: WebhookState.DISABLED,
  gone: WebhookState.GONE,
} as const satisfies Readonly<Record<Disabled, WebhookState>>

export function toSettings(req: CreateWebhookRequest): WebhookSettings {
  const { name, url, caCertificates, eventTypes: types, resources } = req
  return { name, url, caCertificates: caCertificates || null, filter: { types, resources } }
}

/** What a request changes. @throws {ConnectError} `invalid_argument`. */
export function toEdit(req: UpdateWebhookRequest): WebhookEdit {
  const paths = pathsOf(req.updateMask, ['name', 'url', 'ca_certificates', 'event_types', 'resources', 'enabled'])
  for (const field of ['name', 'url'] as const) {
    if (paths.has(field) && req[field] === '') throw invalidField(field, 'is required when update_mask has it')
  }
  const filter = {
    ...(paths.has('event_types') ? { types: req.eventTypes } : {}),
    ...(paths.has('resources') ? { resources: req.resources } : {}),
  }
  return {
    ...(paths.has('name') ? { name: req.name } : {}),
    ...(paths.has('url') ? { url: req.url } : {}),
    ...(paths.has('ca_certificates') ? { caCertificates: req.caCertificates || null } : {}),
    filter,
    ...(paths.has('enabled') ? { enabled: req.enabled } : {}),
  }
}

/** A webhook, without its secrets. */
export function fromWebhook(view: WebhookView): WireWebhook {
  const { webhookId, name, url, caCertificates, filter, disabled, secrets, createdAt, testedAt } = view.webhook
  return create(WebhookSchema, {
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
  })
}

function fromDelivery({ webhook: { delivery }, waiting }: WebhookView): WireWebhookDelivery {
  const { lastSuccessAt, lastFailure, failing, nextAttemptAt, givenUp, expired } = delivery
  return create(WebhookDeliverySchema, {
    ...fromDate('lastSuccessDate', lastSuccessAt),
    lastFailure: lastFailure?.reason ?? '',
    ...fromDate('lastFailureDate', lastFailure?.at ?? null),
    failures: failing?.failures ?? 0,
    ...fromDate('nextAttemptDate', nextAttemptAt),
    waitingEvents: waiting?.count ?? 0,
    ...fromDate('waitingSinceDate', waiting?.since ?? null),
    givenUpEvents: BigInt(givenUp),
    expiredEvents: BigInt(expired),
  })
}

export function fromTest({ outcome, event, millis }: WebhookTest): Omit<TestWebhookResponse, '$typeName'> {
  return {
    delivered: outcome.kind === 'delivered',
    failure: outcome.kind === 'delivered' ? '' : outcome.reason,
    eventId: event.eventId,
    durationMilliseconds: millis,
  }
}
