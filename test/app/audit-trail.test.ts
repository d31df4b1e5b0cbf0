import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { ANONYMOUS, AuditTrail } from '../../src/app/audit-trail.ts'
import type { AuditEntry, AuditEvent } from '../../src/domain/audit.ts'
import type { AuditLog } from '../../src/domain/ports.ts'
import { createCounter } from '../support/counter.ts'
import { createRecordingLog, type RecordingLog } from '../support/log.ts'
import { ManualClock } from './manual-clock.ts'

/** Events in memory. While it is held nothing gets written; while it is broken everything fails. */
class Events implements AuditLog {
  readonly outcomes: string[] = []
  readonly attempts = createCounter()
  broken = false
  release: (() => void) | undefined
  #gate = Promise.resolve()

  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.release = resolve
    })
  }

  async refuse(_entry: AuditEntry, outcome: string): Promise<void> {
    this.attempts.hit()
    await this.#gate
    if (this.broken) throw new Error('no database')
    this.outcomes.push(outcome)
  }

  async list(): Promise<readonly AuditEvent[]> {
    return []
  }

  async deleteBefore(): Promise<number> {
    return 0
  }
}

let events: Events
let clock: ManualClock
let log: RecordingLog
let trail: AuditTrail

beforeEach(() => {
  events = new Events()
  clock = new ManualClock()
  log = createRecordingLog()
  trail = new AuditTrail({ events, clock, log })
})

function refuse(outcome: string, actor = 'somebody'): void {
  trail.refuse({ actor, action: 'service/method', resource: '', requestId: 'r' }, outcome)
}

function refuseMany(count: number, actor?: string): string[] {
  const outcomes = Array.from({ length: count }, (_, i) => `O${i}`)
  for (const outcome of outcomes) refuse(outcome, actor)
  return outcomes
}

describe('a refusal', () => {
  it('is written down after the caller has gone on', async () => {
    refuse('A')
    expect(events.attempts.count).toBe(0)
    await events.attempts.reached(1)
  })

  it('is written down after those before it', async () => {
    events.hold()
    const outcomes = refuseMany(5)
    await events.attempts.reached(1)
    events.release?.()
    await trail.stop()
    expect(events.outcomes).toEqual(outcomes)
  })

  it('is written down when there has been none for a while', async () => {
    for (const outcome of ['A', 'B', 'C']) {
      refuse(outcome)
      await events.attempts.reached(events.attempts.count + 1)
    }
    await trail.stop()
    expect(events.outcomes).toEqual(['A', 'B', 'C'])
  })

  it('is dropped when a thousand are waiting, and the operator is told how many, once a minute', async () => {
    events.hold()
    refuse('first')
    await events.attempts.reached(1)
    for (let i = 0; i < 1007; i += 1) refuse(`O${i}`, `actor-${i}`)
    expect(log.lines).toEqual([])

    clock.advance(60_000)
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*"dropped":7/)])
    clock.advance(60_000)
    expect(log.lines).toHaveLength(1)
    expect(clock.waiting).toBe(0)

    events.release?.()
    await trail.stop()
    expect(events.outcomes).toHaveLength(1001)
  })

  it.each([ANONYMOUS, 'a user id'])(
    'of %s is one of 200 at once and of one a second, whatever others do',
    async (actor) => {
      refuseMany(230, actor)
      refuse('ANOTHER', 'another user id')
      clock.advance(3000)
      refuseMany(5, actor)
      await trail.stop()
      expect(events.outcomes).toHaveLength(200 + 1 + 3)
      expect(log.lines).toEqual([expect.stringContaining('"dropped":32')])
    },
  )

  it('is lost with those that wait when the database cannot be reached, and later ones are not', async () => {
    events.broken = true
    refuseMany(5)
    await setImmediate()
    expect(events.attempts.count).toBe(1)

    events.broken = false
    refuse('LATER')
    await trail.stop()
    expect(events.outcomes).toEqual(['LATER'])
    expect(log.lines).toEqual([expect.stringContaining('could not be written'), expect.stringContaining('"dropped":5')])
  })
})

describe('the trail, when it has stopped', () => {
  it('has written what was waiting, and takes nothing more', async () => {
    refuse('A')
    await trail.stop()
    refuse('B')
    expect(events.outcomes).toEqual(['A'])
    expect(clock.waiting).toBe(0)
  })
})
