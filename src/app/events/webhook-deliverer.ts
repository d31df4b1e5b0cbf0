/**
 * Delivers events to webhooks in the background. No request waits for it.
 *
 * Every replica runs a deliverer, and none is the leader. The delivery to a webhook is claimed with a lease in the database, so that one
 * process at a time delivers to it, in order. A process that is killed has recorded all attempts but the last, which is repeated when its
 * lease has ended. A webhook has one request at a time, and none waits for another. Without an enabled webhook the database is not asked.
 */
import type { PositionedEvent } from '../../domain/audit.ts'
import { webhookResource } from '../../domain/audit-resources.ts'
import { DomainError, isOutage } from '../../domain/errors.ts'
import { afterAttempt, type Delivery, type DeliveryOutcome, isDue, leased } from '../../domain/events/delivery.ts'
import { disableGone, isWanted, type Webhook } from '../../domain/events/webhook.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { AuditReader } from '../../domain/ports/audit.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { DeliveryRecord, WebhookStore } from '../../domain/ports/webhooks.ts'
import type { Clock } from '../../domain/time.ts'
import { repeat } from '../concurrency/repeat.ts'
import type { Replica } from '../replica/replica.ts'
import type { SendWebhook } from './webhook-attempts.ts'
import { EVERYTHING, type WebhookStatus, WebhookStatuses, waitingEvents } from './webhook-status.ts'

/** How often the deliverer looks for new events, in milliseconds. */
const LOOK_EVERY = 1000

const BATCH = 100

/** A lease that is older is renewed before an attempt, in milliseconds. It outlasts the attempt then. */
const RENEW_AFTER = 10_000

/** An event about a webhook. It is not written about such an event itself: that would be without an end. */
const GIVE_UP = 'webhook/give_up'

export interface WebhookDelivererOptions {
  readonly store: WebhookStore
  readonly reader: AuditReader
  readonly send: SendWebhook
  readonly replica: Pick<Replica, 'isWritable' | 'refreshOrLog'>
  readonly version: () => number
  readonly clock: Clock
  readonly now: () => Date
  readonly newId: () => string
  readonly log: Log
}

interface Run {
  readonly aborting: AbortController
  done: Promise<void>
}

/** A webhook that this process delivers to, and how that goes. */
interface Held {
  readonly webhook: Webhook
  readonly lease: string
  readonly signal: AbortSignal
  delivery: Delivery
  /** When the lease was last renewed, by the monotonic clock. */
  renewedAt: number
}

export class WebhookDeliverer {
  readonly #options: WebhookDelivererOptions
  readonly #throttle = new LogThrottle()
  readonly #running = new Map<string, Run>()
  readonly #statuses: WebhookStatuses
  /** The version of the instance at which the webhooks were read last. */
  #version = -1
  #hasWork = false
  #looking = Promise.resolve()
  #stopLooking = async () => {}
  #stopped = false

  constructor(options: WebhookDelivererOptions) {
    this.#options = options
    this.#statuses = new WebhookStatuses(options.now)
  }

  start(): void {
    const look = () => {
      this.#looking = this.#look().catch((error: unknown) => this.#warn('webhooks', error))
      return this.#looking
    }
    this.#stopLooking = repeat(look, { clock: this.#options.clock, everyMillis: LOOK_EVERY, first: 'later' })
  }

  /** Aborts the requests under way, whose events are sent again, and gives the leases back. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#stopLooking()
    for (const { aborting } of this.#running.values()) aborting.abort()
    await this.settled()
  }

  async settled(): Promise<void> {
    await this.#looking
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  get status(): WebhookStatus {
    return this.#statuses.current
  }

  async #look(): Promise<void> {
    const { store, reader, replica, now } = this.#options
    if (!replica.isWritable()) return
    const version = this.#options.version()
    if (version === this.#version && !this.#hasWork) return
    const webhooks = await store.list()
    this.#version = version
    const enabled = webhooks.filter(({ disabled }) => disabled === null)
    this.#hasWork = enabled.length > 0
    for (const [webhookId, { aborting }] of this.#running) {
      if (!enabled.some((webhook) => webhook.webhookId === webhookId)) aborting.abort()
    }
    if (enabled.length === 0) return this.#statuses.note([], '')
    const latest = await reader.latest()
    this.#statuses.note(enabled, latest)
    if (this.#stopped) return
    for (const webhook of enabled) {
      const { webhookId, delivery } = webhook
      const isBehind = delivery.position !== latest && isDue(delivery, now())
      if (isBehind && !this.#running.has(webhookId)) this.#begin(webhook)
    }
  }

  #begin({ webhookId, name }: Webhook): void {
    const run: Run = { aborting: new AbortController(), done: Promise.resolve() }
    this.#running.set(webhookId, run)
    run.done = this.#run(webhookId, run.aborting.signal)
      .catch((error: unknown) => this.#warn(name, error))
      .finally(() => this.#running.delete(webhookId))
  }

  async #run(webhookId: string, signal: AbortSignal): Promise<void> {
    const { store, clock, now, newId } = this.#options
    const lease = newId()
    const renewedAt = clock.monotonic()
    const webhook = await store.claim(webhookId, (delivery) =>
      isDue(delivery, now()) ? leased(delivery, lease, now()) : delivery,
    )
    if (webhook?.delivery.lease?.id !== lease || webhook.disabled !== null) return
    const held: Held = { webhook, lease, signal, delivery: webhook.delivery, renewedAt }
    try {
      if (!(await this.#deliver(held))) return
      await store.record(webhookId, lease, { delivery: { ...held.delivery, lease: null }, event: null })
    } catch (error) {
      // What was recorded last is not known: the answer of the database may have been lost.
      await store.claim(webhookId, (delivery) =>
        delivery.lease?.id === lease ? { ...delivery, lease: null } : delivery,
      )
      if (!signal.aborted) throw error
    }
  }

  /** Delivers what there is, until an attempt fails. @returns Whether the lease is still held. */
  async #deliver(held: Held): Promise<boolean> {
    const { reader } = this.#options
    const { webhook, signal } = held
    for (;;) {
      const batch = await reader.readAfter(held.delivery.position, { filter: EVERYTHING, limit: BATCH })
      for (const positioned of batch.events) {
        if (!isWanted(webhook.filter, positioned.event)) continue
        signal.throwIfAborted()
        if (!(await this.#keep(held))) return false
        const { kind, isHeld } = await this.#attempt(held, positioned)
        if (kind === 'gone' && isHeld) await this.#disable(held)
        if (!isHeld || kind !== 'delivered') return isHeld && kind !== 'gone'
      }
      held.delivery = { ...held.delivery, position: batch.position }
      if (batch.isComplete) return true
      if (!(await this.#keep(held))) return false
    }
  }

  /** Renews the lease, unless that was done a moment ago. */
  async #keep(held: Held): Promise<boolean> {
    if (this.#options.clock.monotonic() - held.renewedAt < RENEW_AFTER) return true
    return await this.#record(held, { delivery: held.delivery, event: null })
  }

  async #attempt(
    held: Held,
    { event, position }: PositionedEvent,
  ): Promise<{ readonly kind: DeliveryOutcome['kind']; readonly isHeld: boolean }> {
    const { send, reader, now } = this.#options
    const { webhook } = held
    const outcome = await send(webhook, event, held.signal)
    const { kind } = outcome
    const waiting =
      kind === 'delivered' ? 0 : (await waitingEvents(reader, { ...webhook, delivery: held.delivery })).length
    const attempt = { event, position, outcome, waiting, now: now(), random: Math.random() }
    const wasFailing = held.delivery.failing !== null
    const { next, isGivenUp } = afterAttempt(held.delivery, attempt)
    const resource = webhookResource(webhook.webhookId)
    const isAnnounced = isGivenUp && !(event.action === GIVE_UP && event.resource === resource)
    const entry = { actor: SYSTEM.actor, requestId: '', action: GIVE_UP, resource }
    const announcement = isAnnounced ? { entry, outcome: `GIVEN_UP ${event.eventId}` } : null
    const isHeld = await this.#record(held, { delivery: next, event: announcement })
    if (isHeld) this.#statuses.count(isGivenUp ? 'given_up' : kind === 'delivered' ? 'delivered' : 'failed')
    if (isHeld) this.#report(webhook, outcome, { eventId: event.eventId, wasFailing, isGivenUp })
    return { kind, isHeld }
  }

  async #record(held: Held, { delivery, event }: DeliveryRecord): Promise<boolean> {
    const { store, clock, now } = this.#options
    const renewed = leased(delivery, held.lease, now())
    const at = clock.monotonic()
    const isHeld = await store.record(held.webhook.webhookId, held.lease, { delivery: renewed, event })
    held.delivery = renewed
    held.renewedAt = at
    return isHeld
  }

  async #disable({ webhook: { webhookId }, lease }: Held): Promise<void> {
    const { store, replica } = this.#options
    const entry = { ...SYSTEM, action: 'webhook/disable', resource: webhookResource(webhookId) }
    await store.change(entry, (webhooks) => ({ next: disableGone(webhooks, webhookId, lease), result: null }))
    await replica.refreshOrLog()
  }

  #report(
    { name }: Webhook,
    outcome: DeliveryOutcome,
    {
      eventId,
      wasFailing,
      isGivenUp,
    }: { readonly eventId: string; readonly wasFailing: boolean; readonly isGivenUp: boolean },
  ): void {
    const { log, clock } = this.#options
    if (outcome.kind === 'delivered') {
      if (wasFailing) log.info({ webhook: name }, 'events are delivered to a webhook again')
      return
    }
    const { reason } = outcome
    if (isGivenUp) log.warn({ webhook: name, event: eventId, reason }, 'an event was given up for a webhook')
    else if (outcome.kind === 'gone') log.warn({ webhook: name, reason }, 'a webhook is disabled: its receiver is gone')
    else if (this.#throttle.admits(`${name} ${reason}`, clock.monotonic()))
      log.warn({ webhook: name, reason }, 'an event could not be delivered to a webhook')
  }

  #warn(webhook: string, error: unknown): void {
    const { log, clock } = this.#options
    if (this.#stopped || (error instanceof DomainError && isOutage(error))) return
    if (this.#throttle.admits(`${webhook} ${String(error)}`, clock.monotonic()))
      log.warn({ err: error, webhook }, 'delivering events to webhooks failed')
  }
}
