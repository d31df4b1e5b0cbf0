import { describe, expect, it } from '@jest/globals'
import { CleanupStack } from '../../../src/server/cleanup-stack.ts'
import { limitLastWrites } from '../../../src/server/stop-limit.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'

/** A server with two databases, and a write that ends when both are closed. */
function start() {
  const stack = new CleanupStack()
  const clock = new ManualClock()
  const log = createRecordingLog()
  const closed: string[] = []
  const database = (name: string) => {
    const ending = Promise.withResolvers<void>()
    const close = async () => {
      closed.push(name)
      ending.resolve()
    }
    return { close, ended: ending.promise }
  }
  const own = database('own')
  const primary = database('primary')
  const startLastWrites = limitLastWrites({ databases: [own, primary], clock, log, stack })
  const hang = () => Promise.all([own.ended, primary.ended]).then(() => {})
  return { stack, clock, log, closed, startLastWrites, hang }
}

describe('the last writes of a server', () => {
  it('end with the connections after three seconds', async () => {
    const { stack, clock, log, closed, startLastWrites, hang } = start()
    stack.defer(hang)
    stack.defer(startLastWrites)
    const stopped = stack.disposeAsync()
    await Promise.resolve()
    clock.advance(2_999)
    expect(closed).toEqual([])
    clock.advance(1)
    expect(closed).toEqual(['own', 'primary'])
    await stopped
    expect(log.lines.join()).toContain('did not confirm the last writes')
  })

  it('end by themselves otherwise', async () => {
    const { stack, clock, log, closed, startLastWrites } = start()
    stack.defer(startLastWrites)
    await stack.disposeAsync()
    expect(clock.waiting).toBe(0)
    expect(closed).toEqual([])
    expect(log.lines).toEqual([])
  })
})
