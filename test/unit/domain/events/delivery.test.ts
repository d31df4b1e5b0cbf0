import { describe, expect, it } from '@jest/globals'
import {
  type Attempt,
  afterAttempt,
  type Delivery,
  type DeliveryOutcome,
  deliveryFrom,
  isDue,
  leased,
  outcomeOf,
  resumed,
} from '../../../../src/domain/events/delivery.ts'

const UNAVAILABLE: DeliveryOutcome = { kind: 'unavailable', reason: 'cannot be reached (ECONNREFUSED)' }
const REJECTED: DeliveryOutcome = { kind: 'rejected', reason: 'answers with status 400' }
const HOUR = 3600

/** A time of day. */
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000)

const attempt = (outcome: DeliveryOutcome, seconds: number, more: Partial<Attempt> = {}): Attempt => ({
  event: { eventId: 'event', at: at(0) },
  position: 'after',
  outcome,
  waiting: 7,
  now: at(seconds),
  random: 0,
  ...more,
})

/** The delivery after an event has failed so often, each time as soon as it is due; and the waits in between, in seconds. */
function failing(outcome: DeliveryOutcome, until: (delivery: Delivery, seconds: number) => boolean) {
  let delivery = deliveryFrom('before')
  const waits: number[] = []
  for (let seconds = 0; !until(delivery, seconds); ) {
    delivery = afterAttempt(delivery, attempt(outcome, seconds)).next
    const wait = (Number(delivery.nextAttemptAt ?? at(seconds)) - Number(at(seconds))) / 1000
    waits.push(wait)
    seconds += wait
  }
  return { delivery, waits }
}

describe('an attempt', () => {
  it.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [301, 'unavailable'],
    [400, 'rejected'],
    [401, 'unavailable'],
    [404, 'unavailable'],
    [410, 'gone'],
    [422, 'rejected'],
    [429, 'unavailable'],
    [500, 'rejected'],
    [502, 'unavailable'],
    [503, 'unavailable'],
  ])('that is answered with %d is %s', (status, kind) => {
    expect(outcomeOf(status).kind).toBe(kind)
  })

  it('that succeeds moves on to the next event at once, and forgets that there were failures', () => {
    const failed = afterAttempt(deliveryFrom('before'), attempt(UNAVAILABLE, 0)).next
    const { next, isGivenUp } = afterAttempt(failed, attempt({ kind: 'delivered' }, 10))
    expect(isGivenUp).toBe(false)
    expect(next).toMatchObject({ position: 'after', failing: null, nextAttemptAt: null, lastSuccessAt: at(10) })
    expect(next.lastFailure).toEqual({ reason: UNAVAILABLE.reason, at: at(0) })
  })

  it('that fails is repeated after 5 s, then after twice as long each time, 15 min at most, at the same event', () => {
    const { delivery, waits } = failing(UNAVAILABLE, (_, seconds) => seconds > 2 * HOUR)
    expect(waits.slice(0, 10)).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900, 900])
    expect(delivery).toMatchObject({ position: 'before', givenUp: 0 })
    expect(delivery.failing).toMatchObject({ eventId: 'event', since: at(0), failures: waits.length, waiting: 7 })
  })

  it('is repeated up to a fifth sooner, at random', () => {
    const { next } = afterAttempt(deliveryFrom('before'), attempt(UNAVAILABLE, 0, { random: 1 }))
    expect(next.nextAttemptAt).toEqual(at(4))
  })

  it.each([
    [429, 60, 60],
    [503, 60, 60],
    [503, 1, 5],
    [429, 3600, 3600],
    [429, 86_400, 3600],
    [404, 60, 5],
    [500, 60, 5],
  ])('that is answered with %d and Retry-After of %d s is repeated after %d s', (status, asked, wait) => {
    const { next } = afterAttempt(deliveryFrom('before'), attempt(outcomeOf(status, asked), 0))
    expect(next.nextAttemptAt).toEqual(at(wait))
    expect([isDue(next, at(wait - 1)), isDue(next, at(wait))]).toEqual([false, true])
  })

  it('is repeated no sooner than a receiver asks for, at random or not', () => {
    const { next } = afterAttempt(deliveryFrom('before'), attempt(outcomeOf(429, 60), 0, { random: 1 }))
    expect(next.nextAttemptAt).toEqual(at(60))
  })

  it.each([
    ['rejected', REJECTED, HOUR],
    ['unavailable', UNAVAILABLE, 72 * HOUR],
  ] as const)('gives an event up that is %s, when that has gone on for long enough', (_kind, outcome, limit) => {
    const tried = (seconds: number) =>
      afterAttempt(afterAttempt(deliveryFrom('before'), attempt(outcome, 0)).next, attempt(outcome, seconds))
    expect(tried(limit - 1)).toMatchObject({ isGivenUp: false, next: { position: 'before', givenUp: 0 } })
    expect(tried(limit)).toMatchObject({
      isGivenUp: true,
      next: { position: 'after', givenUp: 1, failing: null, nextAttemptAt: null },
    })
  })

  it('counts only the time for which an event was rejected without a break', () => {
    let delivery = deliveryFrom('before')
    for (const [outcome, seconds] of [
      [REJECTED, 0],
      [UNAVAILABLE, HOUR - 10],
      [REJECTED, HOUR],
    ] as const)
      delivery = afterAttempt(delivery, attempt(outcome, seconds)).next
    expect(delivery.failing).toMatchObject({ since: at(0), rejectedSince: at(HOUR), failures: 3 })
    expect(afterAttempt(delivery, attempt(REJECTED, 2 * HOUR)).isGivenUp).toBe(true)
  })
})

describe('a delivery', () => {
  it('is due unless another process has it, for 30 s, or the next attempt is later', () => {
    const held = leased(deliveryFrom('before'), 'lease', at(0))
    expect([isDue(deliveryFrom('before'), at(0)), isDue(held, at(29)), isDue(held, at(30))]).toEqual([
      true,
      false,
      true,
    ])
    const failed = afterAttempt(deliveryFrom('before'), attempt(UNAVAILABLE, 0)).next
    expect([isDue(failed, at(4)), isDue(failed, at(5))]).toEqual([false, true])
    expect(isDue(resumed(failed), at(0))).toBe(true)
  })
})
