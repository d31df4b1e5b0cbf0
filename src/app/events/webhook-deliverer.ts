/**
 * Delivers events to webhooks in the background. No request waits for it.
 *
 * Every replica runs a deliverer, and none is the leader. The delivery to a webhook is claimed with a lease in the database, so that one
 * process at a time delivers to it, in order. A process that is killed has recorded all attempts but the last, which is repeated when its
 * lease has ended. A webhook has one request at a time, and none waits for another. Without an enabled webhook the database is not asked.
 */
import type { AuditEvent } from '../../domain/audit.ts'
import { webhookResource } from '../../domain/audit-resources.ts'
import { DomainError, isOutage } from '../../domain/errors.ts'
import { afterAttempt, type Delivery, leased } from '../../domain/events/delivery.ts'
import { disableGone, isDeliverable, isWanted, type Webhook } from '../../domain/events/webhook.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { AuditReader } from '../../domain/ports/audit.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { DeliveryRecord, WebhookStore } from '../../domain/ports/webhooks.ts'
import type { Clock } from '../../domain/time.ts'
import { repeat } from '../concurrency/repeat.ts'
import type { Replica } from '../replica/replica.ts'
import type { SendWebhook } from './webhook-attempts.ts'
import { EVERYTHING, waitingEvents } from './webhooks.ts'

/** How often the deliverer looks for new events, in milliseconds. */
const LOOK_EVERY = 1000

const BATCH = 100

/** No attempt is made with a lease that is older, in milliseconds. Another one outlasts the attempt. */
const MAX_LEASE_AGE = 10_000

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

export interface WebhookStatus {
  readonly attempts: Readonly<Record<'delivered' | 'failed' | 'given_up', number>>
  /** The enabled ones, by what the database said last: every replica has the same. */
  readonly webhooks: readonly {
    readonly name: string
    /** Since the event was made that could not be delivered yet. 0: there is none. */
    readonly behindSeconds: number
    /** As it was counted at the last attempt that failed. */
    readonly waiting: number
  }[]
}

export class WebhookDeliverer {
  readonly #options: WebhookDelivererOptions
  readonly #throttle = new LogThrottle()
  readonly #running = new Map<string, Promise<void>>()
  readonly #attempts = { delivered: 0, failed: 0, given_up: 0 }
  readonly #stopping = new AbortController()
  /** The enabled webhooks, and the version of the instance at which they were read last. */
  #enabled: readonly Webhook[] = []
  #version = -1
  #looking = Promise.resolve()
  #stopLooking = async () => {}

  constructor(options: WebhookDelivererOptions) {
    this.#options = options
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
    this.#stopping.abort()
    await this.#stopLooking()
    await this.settled()
  }

  async settled(): Promise<void> {
    await this.#looking
    await Promise.all(this.#running.values())
  }

  get status(): WebhookStatus {
    const now = this.#options.now().getTime()
    const webhooks = this.#enabled.map(({ name, delivery: { failing } }) => ({
      name,
      behindSeconds: failing === null ? 0 : Math.max(0, now - failing.eventAt.getTime()) / 1000,
      waiting: failing?.waiting ?? 0,
    }))
    return { attempts: { ...this.#attempts }, webhooks }
  }

  async #look(): Promise<void> {
    const { store, reader, replica, now } = this.#options
    if (!replica.isWritable()) return
    const version = this.#options.version()
    if (version === this.#version && this.#enabled.length === 0) return
    this.#enabled = (await store.list()).filter(({ disabled }) => disabled === null)
    this.#version = version
    if (this.#enabled.length === 0) return
    const latest = await reader.latest()
    for (const webhook of this.#enabled) {
      const { webhookId, name, delivery } = webhook
      if (delivery.position === latest || !isDeliverable(webhook, now()) || this.#running.has(webhookId)) continue
      const run = this.#run(webhookId)
        .catch((error: unknown) => this.#warn(name, error))
        .finally(() => this.#running.delete(webhookId))
      this.#running.set(webhookId, run)
    }
  }

  async #run(webhookId: string): Promise<void> {
    const { store, clock, now, newId } = this.#options
    const lease = newId()
    const leasedAt = clock.monotonic()
    const webhook = await store.claim(webhookId, (found) =>
      isDeliverable(found, now()) ? leased(found.delivery, lease, now()) : found.delivery,
    )
    if (webhook?.delivery.lease?.id !== lease) return
    try {
      await this.#deliver(webhook, lease, leasedAt)
    } finally {
      // Whatever was recorded last: the answer of the database may have been lost.
      await store.claim(webhookId, ({ delivery }) =>
        delivery.lease?.id === lease ? { ...delivery, lease: null } : delivery,
      )
    }
  }

  /** Delivers what there is, until an attempt fails or the lease is lost. */
  async #deliver(webhook: Webhook, lease: string, claimedAt: number): Promise<void> {
    const { store, reader, send, clock, now } = this.#options
    const { signal } = this.#stopping
    const { webhookId, filter } = webhook
    let { delivery } = webhook
    let leasedAt = claimedAt
    const record = (next: Delivery, event: DeliveryRecord['event']): Promise<boolean> => {
      delivery = leased(next, lease, now())
      leasedAt = clock.monotonic()
      return store.record(webhookId, lease, { delivery, event })
    }
    for (;;) {
      const batch = await reader.readAfter(delivery.position, { filter: EVERYTHING, limit: BATCH })
      for (const { event, position } of batch.events) {
        if (!isWanted(filter, event)) continue
        signal.throwIfAborted()
        if (clock.monotonic() - leasedAt > MAX_LEASE_AGE) return
        const outcome = await send(webhook, event, signal)
        const { kind } = outcome
        const waiting = kind === 'delivered' ? 0 : (await waitingEvents(reader, { delivery, filter })).length
        const attempt = { event, position, outcome, waiting, now: now(), random: Math.random() }
        const { next, isGivenUp } = afterAttempt(delivery, attempt)
        if (!(await record(next, isGivenUp ? announcementOf(webhook, event) : null))) return
        this.#attempts[isGivenUp ? 'given_up' : kind === 'delivered' ? 'delivered' : 'failed'] += 1
        if (kind === 'delivered') continue
        this.#report(webhook, outcome.reason, isGivenUp ? event.eventId : undefined)
        if (kind === 'gone') await this.#disable(webhook, lease)
        return
      }
      if (!(await record({ ...delivery, position: batch.position }, null)) || batch.isComplete) return
    }
  }

  async #disable({ webhookId, name }: Webhook, lease: string): Promise<void> {
    const { store, replica, log } = this.#options
    const entry = { ...SYSTEM, action: 'webhook/disable', resource: webhookResource(webhookId) }
    await store.change(entry, (webhooks) => ({ next: disableGone(webhooks, webhookId, lease), result: null }))
    log.warn({ webhook: name }, 'a webhook is disabled: its receiver is gone')
    await replica.refreshOrLog()
  }

  #report({ name }: Webhook, reason: string, givenUp: string | undefined): void {
    const { log, clock } = this.#options
    if (givenUp !== undefined)
      log.warn({ webhook: name, event: givenUp, reason }, 'an event was given up for a webhook')
    else if (this.#throttle.admits(`${name} ${reason}`, clock.monotonic()))
      log.warn({ webhook: name, reason }, 'an event could not be delivered to a webhook')
  }

  #warn(webhook: string, error: unknown): void {
    const { log, clock } = this.#options
    if (this.#stopping.signal.aborted || (error instanceof DomainError && isOutage(error))) return
    if (this.#throttle.admits(`${webhook} ${String(error)}`, clock.monotonic()))
      log.warn({ err: error, webhook }, 'delivering events to webhooks failed')
  }
}

function announcementOf({ webhookId }: Webhook, { eventId, action, resource }: AuditEvent): DeliveryRecord['event'] {
  const entry = { actor: SYSTEM.actor, requestId: '', action: GIVE_UP, resource: webhookResource(webhookId) }
  if (action === GIVE_UP && resource === entry.resource) return null
  return { entry, outcome: `GIVEN_UP ${eventId}` }
}
