import { describe, expect, it } from '@jest/globals'
import { DatabaseRole } from '../../../../src/app/replica/database-facts.ts'
import { createRecordingLog } from '../../../support/log.ts'

const NOON = Date.parse('2026-11-23T12:00:00Z')
const atSecond = (second: number) => new Date(NOON + second * 1000)

/** A role, and what it says of a comparison by two clocks, in seconds: that of this process and that of the standby. */
function createRole() {
  const log = createRecordingLog()
  const role = new DatabaseRole({ log })
  const observe = (at: number, database: number, standby: { readonly newestHeartbeat: Date | null } | null) => {
    const clock = { databaseTime: atSecond(database), offsetSeconds: 0 }
    return role.observe({ standby, clock }, at * 1000)
  }
  return { role, log, observe }
}

const heartbeat = (second: number) => ({ newestHeartbeat: atSecond(second) })

describe('how old what a standby has is', () => {
  it('is the age of its newest heartbeat by the clock of the database', () => {
    const { observe } = createRole()
    expect(observe(0, 100, heartbeat(97))).toBe(3)
    expect(observe(1, 101, heartbeat(97))).toBe(4)
    expect(observe(2, 102, heartbeat(102))).toBe(0)
  })

  it('is the time since this process saw another heartbeat, if the clock of the database is behind', () => {
    const { observe } = createRole()
    expect(observe(0, 40, heartbeat(97))).toBe(0)
    expect(observe(60, 100, heartbeat(97))).toBe(60)
    expect(observe(61, 101, heartbeat(157))).toBe(0)
  })

  it('is not bounded while no heartbeat has arrived', () => {
    const { observe } = createRole()
    expect(observe(0, 100, { newestHeartbeat: null })).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('the role of a database', () => {
  it('is that of the last comparison, and a change of it is logged once', () => {
    const { role, log, observe } = createRole()
    expect({ age: observe(0, 0, null), isStandby: role.isStandby }).toEqual({ age: 0, isStandby: false })
    observe(1, 1, heartbeat(1))
    observe(2, 2, heartbeat(1))
    expect(role.isStandby).toBe(true)
    expect(observe(3, 3, null)).toBe(0)
    expect(role.isStandby).toBe(false)
    expect(log.lines).toEqual([
      expect.stringContaining('the database is a standby'),
      expect.stringContaining('the database has been promoted'),
    ])
  })
})
