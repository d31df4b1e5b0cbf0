import { beforeEach, describe, expect, it } from '@jest/globals'
import { startAuditRetention } from '../../../../src/app/audit/audit-retention.ts'
import { createCounter } from '../../../support/counter.ts'
import { createRecordingLog, type RecordingLog } from '../../../support/log.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const BATCH = 100

/** The dates of events in memory, deleted in batches. */
class Events {
  dates: Date[] = []
  broken = false
  readonly calls = createCounter()

  async deleteBefore(at: Date): Promise<number> {
    this.calls.hit()
    if (this.broken) throw new Error('no database')
    const old = this.dates.filter((date) => date < at).slice(0, BATCH)
    this.dates = this.dates.filter((date) => !old.includes(date))
    return old.length
  }
}

/** A clock that says when it is waited for, which is when a deletion has ended. */
class WatchedClock extends ManualClock {
  readonly waits = createCounter()

  override after(milliseconds: number, callback: () => void): () => void {
    const cancel = super.after(milliseconds, callback)
    this.waits.hit()
    return cancel
  }
}

let events: Events
let clock: WatchedClock
let log: RecordingLog
let stop: () => Promise<void>

beforeEach(() => {
  events = new Events()
  clock = new WatchedClock()
  log = createRecordingLog()
})

const now = () => new Date(1_000 * DAY + clock.monotonic())

function start(days: number): void {
  stop = startAuditRetention({ events, isWritable: () => true, clock, now, log, days })
}

function daysAgo(days: number): Date {
  return new Date(now().getTime() - days * DAY)
}

describe('the retention of audit events', () => {
  it('deletes what is older than so many days, at once and in batches', async () => {
    const kept = [daysAgo(29), daysAgo(30), now()]
    events.dates = [...Array.from({ length: 250 }, (_, i) => daysAgo(31 + i)), ...kept]
    start(30)
    await clock.waits.reached(1)
    expect(events.dates).toEqual(kept)
    expect(log.lines).toEqual([expect.stringContaining('"deleted":250')])
    await stop()
  })

  it('survives a database that cannot be reached', async () => {
    events.dates = [daysAgo(2)]
    events.broken = true
    start(1)
    await clock.waits.reached(1)
    expect(log.lines).toEqual([expect.stringMatching(/^warn/)])
    events.broken = false
    clock.advance(HOUR)
    await clock.waits.reached(2)
    expect(events.dates).toEqual([])
    await stop()
  })
})
