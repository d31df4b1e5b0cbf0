/**
 * The delivery of events to one webhook: in order, one at a time, at least once. The event at the head of the queue, which is the audit trail after a
 * position, is tried until it is delivered or given up, and holds back those after it.
 */
import type { AuditPosition } from '../audit.ts'
import { after, type Backoff, backoffMillis } from '../time.ts'

export interface Delivery {
  /** After the last event that was delivered, given up or not wanted. */
  readonly position: AuditPosition
  /** Held by the process that delivers. Only its holder may record an attempt. */
  readonly lease: Lease | null
  /** Null: at once. */
  readonly nextAttemptAt: Date | null
  /** The event that could not be delivered yet. Null: the last attempt succeeded, or there was none. */
  readonly failing: FailingEvent | null
  readonly lastSuccessAt: Date | null
  /** Why an attempt failed last, in words for the operator. */
  readonly lastFailure: { readonly reason: string; readonly at: Date } | null
  readonly givenUp: number
  /** Events that the retention of the audit trail has deleted before they were delivered. */
  readonly expired: number
}

export interface Lease {
  readonly id: string
  readonly until: Date
}

export interface FailingEvent {
  readonly eventId: string
  readonly eventAt: Date
  readonly failures: number
  readonly since: Date
  /** Since when the receiver rejects the event itself, without another outcome in between. */
  readonly rejectedSince: Date | null
  /** Events that wait, this one among them, as they were counted at the last attempt; at most `MAX_COUNTED`. */
  readonly waiting: number
}

/** What came of an attempt. A reason is for the operator, with nothing of the response but its status. */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  /** The receiver has refused this event: another one may succeed. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** Nothing would be delivered now. The receiver may say for how long (`Retry-After`), in seconds. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly retryAfterSeconds?: number | undefined }
  | { readonly kind: 'gone'; readonly reason: string }

/** How many waiting events are counted, so that a long queue is not read whole. */
export const MAX_COUNTED = 1000

/** A lease is renewed after each attempt, which is shorter. Events wait so long when a process is killed that delivers. */
const LEASE_SECONDS = 30

/** The longest is how late a receiver that is back learns it. */
const RETRY: Backoff = { first: 5000, longest: 15 * 60_000 }

/**
 * What a receiver is granted that asks for a longer wait, in seconds. It can hold back its own events for as long by not answering; but the
 * mistake of a moment shall not stop them for a day.
 */
const MAX_RETRY_AFTER_SECONDS = 3600

/** The share by which waits are shortened at random, so that a receiver that is back is not asked by all at once. */
const JITTER = 0.2

/** How long an event is tried that the receiver rejects, in seconds. It holds back all events after it. */
const REJECTED_SECONDS = 3600

/** How long any event is tried, in seconds. */
const TRIED_SECONDS = 3 * 86_400

/** Statuses with which a receiver rejects an event itself. Others, such as 401 and 404, tell that nothing would be accepted. */
const REJECTIONS = [400, 409, 413, 415, 422, 500]

/** Statuses with which a receiver can ask for a wait (RFC 9110 §10.2.3, RFC 6585 §4). */
const RETRY_LATER = [429, 503]

/** The outcome that a status stands for. @param retryAfterSeconds How long a wait the receiver asks for, if it does. */
export function outcomeOf(status: number, retryAfterSeconds?: number): DeliveryOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status >= 300 && status < 400)
    return { kind: 'unavailable', reason: `answers with status ${status}, a redirect, which is not followed` }
  const reason = `answers with status ${status}`
  if (status === 410) return { kind: 'gone', reason }
  if (RETRY_LATER.includes(status)) return { kind: 'unavailable', reason, retryAfterSeconds }
  return { kind: REJECTIONS.includes(status) ? 'rejected' : 'unavailable', reason }
}

export function deliveryFrom(position: AuditPosition): Delivery {
  return {
    position,
    lease: null,
    nextAttemptAt: null,
    failing: null,
    lastSuccessAt: null,
    lastFailure: null,
    givenUp: 0,
    expired: 0,
  }
}

/** Tried at once, by any process: what is under way records nothing any more. */
export function resumed(delivery: Delivery): Delivery {
  return { ...delivery, lease: null, nextAttemptAt: null, failing: null }
}

export function isDue({ lease, nextAttemptAt }: Delivery, now: Date): boolean {
  return (lease === null || now >= lease.until) && (nextAttemptAt === null || now >= nextAttemptAt)
}

export function leased(delivery: Delivery, id: string, now: Date): Delivery {
  return { ...delivery, lease: { id, until: after(now, LEASE_SECONDS) } }
}

export interface Attempt {
  readonly event: { readonly eventId: string; readonly at: Date }
  readonly position: AuditPosition
  readonly outcome: DeliveryOutcome
  readonly waiting: number
  readonly now: Date
  /** From 0 to below 1. */
  readonly random: number
}

/** Takes an attempt into account. @returns Whether the event was given up, too. */
export function afterAttempt(
  delivery: Delivery,
  attempt: Attempt,
): { readonly next: Delivery; readonly isGivenUp: boolean } {
  const { position, outcome, now } = attempt
  if (outcome.kind === 'delivered')
    return { next: { ...passed(delivery, position), lastSuccessAt: now }, isGivenUp: false }
  const failing = failingAfter(delivery, attempt)
  const lastFailure = { reason: outcome.reason, at: now }
  if (isHopeless(failing, now)) {
    const givenUp = delivery.givenUp + 1
    return { next: { ...passed(delivery, position), lastFailure, givenUp }, isGivenUp: true }
  }
  const nextAttemptAt = after(now, waitAfter(failing.failures, attempt))
  return { next: { ...delivery, failing, lastFailure, nextAttemptAt }, isGivenUp: false }
}

/** In seconds. A receiver can only make it longer. */
function waitAfter(failures: number, { outcome, random }: Attempt): number {
  const asked = outcome.kind === 'unavailable' ? (outcome.retryAfterSeconds ?? 0) : 0
  return Math.max(
    backoffMillis(failures, { ...RETRY, jitter: JITTER * random }) / 1000,
    Math.min(asked, MAX_RETRY_AFTER_SECONDS),
  )
}

function passed(delivery: Delivery, position: AuditPosition): Delivery {
  return { ...delivery, position, failing: null, nextAttemptAt: null }
}

function failingAfter({ failing }: Delivery, { event, outcome, waiting, now }: Attempt): FailingEvent {
  const before = failing?.eventId === event.eventId ? failing : undefined
  return {
    eventId: event.eventId,
    eventAt: event.at,
    failures: (before?.failures ?? 0) + 1,
    since: before?.since ?? now,
    rejectedSince: outcome.kind === 'rejected' ? (before?.rejectedSince ?? now) : null,
    waiting,
  }
}

function isHopeless({ since, rejectedSince }: FailingEvent, now: Date): boolean {
  return now >= after(since, TRIED_SECONDS) || (rejectedSince !== null && now >= after(rejectedSince, REJECTED_SECONDS))
}
