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
  polls = 0

  latest = async () => {
    this.polls += 1
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
  const feed = new AuditFeed({ reader: trail, onChange: () => () => {}, clock })
  const follow = (after: string | null = null) =>
    feed.follow({ after, filter: FILTER, signal: new AbortController().signal, idleMillis: IDLE })
  return {
    clock,
    trail,
    follow,
  }
}

const positionOf = ({ value }: IteratorResult<AuditBatch>) => (value as AuditBatch).position

describe('following the audit trail', () => {
  it('polls once for all followers, a second after the last time', async () => {
    const { clock, trail, follow } = setUp()
    const followers = [follow(), follow(), follow()]
    await Promise.all(followers.map((follower) => follower.next()))
    const nexts = followers.map((follower) => follower.next())
    await eventually(() => expect(clock.waiting).toBe(4))
    trail.length = 3
    clock.advance(999)
    expect(trail.polls).toBe(0)
    clock.advance(1)
    expect((await Promise.all(nexts)).map(positionOf)).toEqual(['3', '3', '3'])
    expect(trail.polls).toBe(1)
  })

  it('misses no event that is written between a poll and a read', async () => {
    const { clock, trail, follow } = setUp()
    const follower = follow()
    await follower.next()
    let next = follower.next()
    await eventually(() => expect(clock.waiting).toBe(2))
    trail.length = 1
    clock.advance(1_000)
    expect(positionOf(await next)).toBe('1')
    // Written after the read of the first, which was after the poll.
    trail.length = 2
    next = follower.next()
    await eventually(() => expect(clock.waiting).toBe(2))
    clock.advance(1_000)
    expect(positionOf(await next)).toBe('2')
  })
})
