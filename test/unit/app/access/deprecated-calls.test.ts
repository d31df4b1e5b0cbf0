import { describe, expect, it } from '@jest/globals'
import { DeprecatedCalls } from '../../../../src/app/access/deprecated-calls.ts'
import { createRecordingLog } from '../../../support/log.ts'

describe('deprecated calls', () => {
  it('are counted by method and caller, and each pair is logged once', () => {
    const log = createRecordingLog()
    const calls = new DeprecatedCalls(log)
    for (const [method, caller] of [
      ['List', 'a'],
      ['List', 'b'],
      ['Create', 'a'],
      ['List', 'a'],
    ] as const) {
      calls.note(method, caller)
    }
    expect([...calls.counts()]).toEqual([
      { method: 'List', caller: 'a', calls: 2 },
      { method: 'List', caller: 'b', calls: 1 },
      { method: 'Create', caller: 'a', calls: 1 },
    ])
    expect(log.lines).toHaveLength(3)
  })

  it('of too many callers are counted together, whatever they are called', () => {
    const log = createRecordingLog()
    const calls = new DeprecatedCalls(log)
    for (let caller = 0; caller < 5000; caller += 1) calls.note('List', `user ${caller}`)
    calls.note('List', 'user 0')
    const counts = [...calls.counts()]
    expect(counts).toHaveLength(1001)
    expect(counts.find(({ caller }) => caller === 'others')?.calls).toBe(4000)
    expect(counts.find(({ caller }) => caller === 'user 0')?.calls).toBe(2)
    expect(log.lines).toHaveLength(1000)
  })
})
