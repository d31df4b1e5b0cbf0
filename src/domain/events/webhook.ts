/** Webhooks: where events are sent, which of them, and the legal changes. How sending goes is in `delivery.ts`. */
import type { AuditEvent, AuditPosition } from '../audit.ts'
import { DomainError } from '../errors.ts'
import { after, type ChangeMoment } from '../time.ts'
import { eventTypeOf } from './cloud-event.ts'
import { type Delivery, deliveryFrom, isDue, resumed } from './delivery.ts'

/** Each is a request at a time, and a row that every replica reads once a second. */
const MAX_WEBHOOKS = 20

export interface Webhook {
  readonly webhookId: string
  readonly name: string
  /** https. May have a secret of the receiver in it. */
  readonly url: string
  /** Certificates (PEM) that are trusted instead of those of Node.js. */
  readonly caCertificates: string | null
  readonly filter: EventFilter
  /** Why nothing is sent. Null: it is. */
  readonly disabled: Disabled | null
  readonly secrets: WebhookSecrets
  readonly createdAt: Date
  /** When an administrator last had an event sent to test it. */
  readonly testedAt: Date | null
  readonly delivery: Delivery
}

/** An administrator has disabled it, or the receiver has answered 410 Gone. */
export type Disabled = 'by_administrator' | 'gone'

export interface EventFilter {
  /** Types; with `.*` at the end, all that begin so. */
  readonly types: readonly string[]
  /** Resources, each with its parts. */
  readonly resources: readonly string[]
}

export interface WebhookSecrets {
  readonly current: string
  /** The one before, which still signs besides. */
  readonly previous: { readonly sealed: string; readonly expiresAt: Date } | null
}

export type WebhookSettings = Pick<Webhook, 'name' | 'url' | 'caCertificates' | 'filter'>

export type WebhookEdit = Partial<
  Omit<WebhookSettings, 'filter'> & { readonly filter: Partial<EventFilter>; readonly enabled: boolean }
>

export type NewWebhook = WebhookSettings & {
  readonly webhookId: string
  readonly sealedSecret: string
  readonly position: AuditPosition
}

/** Whether a process may claim it now. */
export function isDeliverable({ disabled, delivery }: Webhook, now: Date): boolean {
  return disabled === null && isDue(delivery, now)
}

export function isWanted({ types, resources }: EventFilter, { action, resource }: AuditEvent): boolean {
  const type = eventTypeOf(action)
  const isOfType = (wanted: string) => (wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted)
  const isPartOf = (wanted: string) => resource === wanted || resource.startsWith(`${wanted}/`)
  return (types.length === 0 || types.some(isOfType)) && (resources.length === 0 || resources.some(isPartOf))
}

/** @throws {DomainError} `webhook_name_taken`; `webhook_limit_reached`. */
export function addWebhook(
  webhooks: readonly Webhook[],
  { sealedSecret, position, ...settings }: NewWebhook,
  { date }: Pick<ChangeMoment, 'date'>,
): readonly Webhook[] {
  assertNameFree(webhooks, settings.name)
  if (webhooks.length >= MAX_WEBHOOKS) {
    throw new DomainError('webhook_limit_reached', `there are at most ${MAX_WEBHOOKS} webhooks: delete one first`)
  }
  const secrets = { current: sealedSecret, previous: null }
  return [
    ...webhooks,
    { ...settings, secrets, disabled: null, createdAt: date, testedAt: null, delivery: deliveryFrom(position) },
  ]
}

/**
 * It is tried at once, from the event on at which it was. The same list: nothing changes.
 *
 * @throws {DomainError} `webhook_not_found`; `webhook_name_taken`.
 */
export function editWebhook(
  webhooks: readonly Webhook[],
  webhookId: string,
  { enabled, filter, ...settings }: WebhookEdit,
): readonly Webhook[] {
  const before = existingWebhook(webhooks, webhookId)
  if (settings.name !== undefined && settings.name !== before.name) assertNameFree(webhooks, settings.name)
  const disabled = enabled === undefined ? before.disabled : enabled ? null : (before.disabled ?? 'by_administrator')
  const next = { ...before, ...settings, filter: { ...before.filter, ...filter }, disabled }
  if (JSON.stringify(next) === JSON.stringify(before)) return webhooks
  return replaced(webhooks, before, { ...next, delivery: resumed(before.delivery) })
}

/** After a receiver has said that it is gone. @param lease With which it was asked; without it, the webhook may be another one by now. */
export function disableGone(webhooks: readonly Webhook[], webhookId: string, lease: string): readonly Webhook[] {
  const before = webhooks.find((webhook) => webhook.webhookId === webhookId)
  if (before === undefined || before.disabled !== null || before.delivery.lease?.id !== lease) return webhooks
  return replaced(webhooks, before, { ...before, disabled: 'gone', delivery: resumed(before.delivery) })
}

/** The secret before signs besides for so long; one before that ends. @throws {DomainError} `webhook_not_found`. */
export function rotateSecret(
  webhooks: readonly Webhook[],
  webhookId: string,
  {
    sealedSecret,
    overlapSeconds,
    clock,
  }: { readonly sealedSecret: string; readonly overlapSeconds: number; readonly clock: Date },
): readonly Webhook[] {
  const before = existingWebhook(webhooks, webhookId)
  const previous =
    overlapSeconds === 0 ? null : { sealed: before.secrets.current, expiresAt: after(clock, overlapSeconds) }
  const delivery = { ...before.delivery, lease: null }
  return replaced(webhooks, before, { ...before, secrets: { current: sealedSecret, previous }, delivery })
}

/** Notes a test, which changes nothing else. @throws {DomainError} `webhook_not_found`. */
export function noteTest(webhooks: readonly Webhook[], webhookId: string, at: Date): readonly Webhook[] {
  const before = existingWebhook(webhooks, webhookId)
  return replaced(webhooks, before, { ...before, testedAt: at })
}

export function signingSecrets({ current, previous }: WebhookSecrets, at: Date): readonly string[] {
  return previous === null || at >= previous.expiresAt ? [current] : [current, previous.sealed]
}

/** @throws {DomainError} `webhook_not_found`. */
export function removeWebhook(webhooks: readonly Webhook[], webhookId: string): readonly Webhook[] {
  const gone = existingWebhook(webhooks, webhookId)
  return webhooks.filter((webhook) => webhook !== gone)
}

/** @throws {DomainError} `webhook_not_found`. */
export function existingWebhook(webhooks: readonly Webhook[], webhookId: string): Webhook {
  const found = webhooks.find((webhook) => webhook.webhookId === webhookId)
  if (found === undefined) throw new DomainError('webhook_not_found', 'there is no such webhook')
  return found
}

function assertNameFree(webhooks: readonly Webhook[], taken: string): void {
  if (webhooks.some(({ name }) => name === taken)) {
    throw new DomainError('webhook_name_taken', 'another webhook has this name')
  }
}

function replaced(webhooks: readonly Webhook[], before: Webhook, next: Webhook): readonly Webhook[] {
  return webhooks.map((webhook) => (webhook === before ? next : webhook))
}
