import { describe, expect, it } from '@jest/globals'
import { AuditFeed } from '../../../../src/app/audit/audit-feed.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import type { AuditBatch, AuditReader } from '../../../../src/domain/ports/audit.ts'
import { eventually } from '../../../support/eventually.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const FILTER = { from: null, to: null, actor: null, resource: null }
const IDLE = 15_000

/** A trail of so many events, whose positions are their numbers. */
class CountedTrail implements AuditReader {
  length = 0
  polls = 0
  reads = 0
  failure: Error | undefined

  latest = async () => {
    this.polls += 1
    if (this.failure !== undefined) throw this.failure
    return String(this.length)
  }

  readAfter: AuditReader['readAfter'] = async (position, { limit }) => {
    this.reads += 1
    const from = Number(position ?? '0')
    const to = Math.min(from + limit, this.length)
    const events = Array.from({ length: to - from }, (_, i) => ({ position: String(from + i + 1) }) as never)
    return { events, position: String(to), isComplete: to === this.length }
  }
}

function setUp() {
  const clock = new ManualClock()
  const trail = new CountedTrail()
  const listeners = new Set<() => void>()
  const onChange = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const feed = new AuditFeed({ reader: trail, onChange, clock })
  const ending = new AbortController()
  const follow = (after: string | null = null) =>
    feed.follow({ after, filter: FILTER, signal: ending.signal, idleMillis: IDLE })
  return {
    clock,
    trail,
    listeners,
    follow,
    ending,
    change: () => {
      for (const listener of listeners) listener()
    },
  }
}

const positionOf = ({ value }: IteratorResult<AuditBatch>) => (value as AuditBatch).position

describe('following the audit trail', () => {
  it('asks nothing of the database while there are no followers', async () => {
    const { clock, trail, listeners, follow } = setUp()
    expect([clock.waiting, listeners.size]).toEqual([0, 0])
    const follower = follow()
    await follower.next()
    expect([clock.waiting, listeners.size]).toEqual([1, 1])
    await follower.return()
    expect([clock.waiting, listeners.size]).toEqual([0, 0])
    expect(trail.polls).toBe(0)
  })

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

  it('reads no further than a follower has taken, a hundred events at a time', async () => {
    const { trail, follow } = setUp()
    trail.length = 1_000
    const follower = follow()
    expect(positionOf(await follower.next())).toBe('100')
    expect(trail.reads).toBe(1)
    expect(positionOf(await follower.next())).toBe('200')
    expect(trail.reads).toBe(2)
    await follower.return()
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

  it('fails when the database does, and goes on for those who come back', async () => {
    const { clock, trail, follow } = setUp()
    const follower = follow()
    await follower.next()
    const next = follower.next()
    await eventually(() => expect(clock.waiting).toBe(2))
    trail.failure = new DomainError('storage_unavailable', 'gone')
    clock.advance(1_000)
    await expect(next).rejects.toThrow('gone')
    trail.failure = undefined
    trail.length = 1
    expect(positionOf(await follow('0').next())).toBe('1')
  })

  it('ends when its signal is aborted, also while it waits', async () => {
    const { clock, follow, ending } = setUp()
    const follower = follow()
    await follower.next()
    const next = follower.next()
    await eventually(() => expect(clock.waiting).toBe(2))
    ending.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(clock.waiting).toBe(0)
  })
})
