import { describe, expect, it } from '@jest/globals'
import { DeprecatedCallCounter } from '../../../../src/app/instance/deprecated-call-counter.ts'
import type { DeprecatedCalls } from '../../../../src/domain/deprecated-calls.ts'
import { createRecordingLog } from '../../../support/log.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const after = (seconds: number) => new Date(NOON.getTime() + seconds * 1000)

/** A counter, and a store that can be made to fail or to wait. */
function create() {
  const clock = new ManualClock()
  const log = createRecordingLog()
  const written: (readonly DeprecatedCalls[])[] = []
  const store = {
    behave: async () => {},
    record: async (calls: readonly DeprecatedCalls[]) => {
      await store.behave()
      written.push(calls)
    },
    list: async () => [],
  }
  const counter = new DeprecatedCallCounter({
    store,
    canWrite: () => true,
    clock,
    now: () => after(clock.monotonic() / 1000),
    log,
  })
  const pass = async (milliseconds: number) => {
    clock.advance(milliseconds)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { counter, store, written, log, clock, pass }
}

const calls = (userId: string, method: string, count: number, dates: readonly [Date, Date]): DeprecatedCalls => ({
  userId,
  method,
  count,
  firstAt: dates[0],
  lastAt: dates[1],
})

describe('counting calls of deprecated methods', () => {
  it('writes them five seconds later, together, by caller and method', async () => {
    const { counter, written, pass } = create()
    counter.note('one', 'List')
    counter.note('two', 'List')
    await pass(2000)
    counter.note('one', 'List')
    counter.note('one', 'Create')
    expect(written).toEqual([])
    await pass(3000)
    expect(written).toEqual([
      [
        calls('one', 'Create', 1, [after(2), after(2)]),
        calls('one', 'List', 2, [after(0), after(2)]),
        calls('two', 'List', 1, [after(0), after(0)]),
      ],
    ])
  })

  it('writes nothing when there is nothing to write', async () => {
    const { counter, written, clock, pass } = create()
    counter.note('one', 'List')
    await pass(5000)
    await pass(60_000)
    expect([written.length, clock.waiting]).toEqual([1, 0])
  })

  it('tries again after a failure with what was called meanwhile, and logs it once a minute', async () => {
    const { counter, store, written, log, pass } = create()
    store.behave = () => Promise.reject(new Error('away'))
    counter.note('one', 'List')
    await pass(5000)
    counter.note('one', 'List')
    await pass(5000)
    expect(log.lines).toEqual([expect.stringContaining('warn calls of deprecated methods could not be written')])
    store.behave = async () => {}
    await pass(5000)
    expect(written).toEqual([[calls('one', 'List', 2, [after(0), after(5)])]])
  })

  it('counts on while it writes, and loses nothing if that fails', async () => {
    const { counter, store, written, pass } = create()
    let fail = (_: Error) => {}
    store.behave = () => new Promise<void>((_, reject) => (fail = reject))
    counter.note('one', 'List')
    await pass(5000)
    counter.note('one', 'List')
    store.behave = async () => {}
    fail(new Error('away'))
    await pass(0)
    await pass(5000)
    expect(written).toEqual([[calls('one', 'List', 2, [after(0), after(5)])]])
  })

  it('keeps 1000 callers in memory at most, those that called last', async () => {
    const { counter, written, pass } = create()
    for (let number = 0; number < 1100; number += 1) counter.note(`user ${number}`, 'List')
    await pass(5000)
    expect(written[0]!.map(({ userId }) => userId)).toEqual(
      expect.arrayContaining(Array.from({ length: 1000 }, (_, index) => `user ${index + 100}`)),
    )
    expect(written[0]).toHaveLength(1000)
  })

  it('writes the rest when it stops, and counts nothing afterwards', async () => {
    const { counter, written, clock } = create()
    counter.note('one', 'List')
    await counter.stop()
    expect(written).toHaveLength(1)
    counter.note('one', 'List')
    expect(clock.waiting).toBe(0)
  })
})
