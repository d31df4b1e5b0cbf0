import { describe, expect, it } from '@jest/globals'
import { AuditFeed } from '../../../../src/app/audit/audit-feed.ts'
import type { AuditBatch, AuditReader } from '../../../../src/domain/ports/audit.ts'
import { eventually } from '../../../support/eventually.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const FILTER = { from: null, to: null, actor: null, resource: null }
const IDLE = 15_000

/** A trail of so many events, whose positions are their numbers. */
class CountedTrail implements AuditReader {
  length = 0

  latest = async () => {
    return String(this.length)
  }

  readAfter: AuditReader['readAfter'] = async (position, { limit }) => {
    const from = Number(position ?? '0')
    const to = Math.min(from + limit, this.length)
    const events = Array.from({ length: to - from }, (_, i) => ({ position: String(from + i + 1) }) as never)
    return { events, position: String(to), isComplete: to === this.length }
  }
}

function setUp() {
  const clock = new ManualClock()
  const trail = new CountedTrail()
  let change = () => {}
  const onChange = (listener: () => void) => {
    change = listener
    return () => {}
  }
  const feed = new AuditFeed({ reader: trail, onChange, clock })
  const follow = (after: string | null = null) =>
    feed.follow({ after, filter: FILTER, signal: new AbortController().signal, idleMillis: IDLE })
  return {
    clock,
    trail,
    follow,
    change: () => change(),
  }
}

const positionOf = ({ value }: IteratorResult<AuditBatch>) => (value as AuditBatch).position

describe('following the audit trail', () => {
  it('reads every second, sooner after a change, and yields a batch without events when it was silent for long', async () => {
    const { clock, trail, follow, change } = setUp()
    const follower = follow()
    expect(positionOf(await follower.next())).toBe('0')
    let next = follower.next()
    await eventually(() => expect(clock.waiting).toBe(1))
    trail.length = 1
    clock.advance(1_000)
    expect(positionOf(await next)).toBe('1')
    next = follower.next()
    await eventually(() => expect(clock.waiting).toBe(1))
    trail.length = 2
    change()
    clock.advance(100)
    expect(positionOf(await next)).toBe('2')
    next = follower.next()
    for (let second = 0; second < 15; second += 1) {
      await eventually(() => expect(clock.waiting).toBe(1))
      clock.advance(1_000)
    }
    expect((await next).value).toMatchObject({ events: [], position: '2' })
  })
})
