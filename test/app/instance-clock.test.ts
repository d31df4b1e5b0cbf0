import { describe, expect, it } from '@jest/globals'
import { InstanceClock } from '../../src/app/instance-clock.ts'
import { createRecordingLog } from '../support/log.ts'

const MACHINE = Date.UTC(2026, 0, 1)

/** A clock, and readings of a database whose clock is ahead by so many milliseconds, answered in so many. */
function createClock() {
  const log = createRecordingLog()
  const time = { machine: MACHINE, monotonic: 5_000 }
  const clock = new InstanceClock({ machine: () => new Date(time.machine), monotonic: () => time.monotonic, log })
  const read = (ahead: number, roundTrip = 0) =>
    clock.adjust({
      databaseTime: new Date(MACHINE + ahead + time.monotonic - 5_000),
      notBefore: time.monotonic - roundTrip / 2,
      notAfter: time.monotonic + roundTrip / 2,
    })
  /** So many milliseconds go by, and the clock of the machine is set besides. */
  const pass = (millis: number, setAhead = 0) => {
    time.monotonic += millis
    time.machine += millis + setAhead
  }
  return { log, clock, read, pass, ahead: () => clock.now().getTime() - MACHINE }
}

describe('the time of the instance', () => {
  it('is that of the machine until the database has told its own', () => {
    expect(createClock().ahead()).toBe(0)
  })

  it.each([600_000, -600_000, 40])('is that of the database, which is %d ms ahead', (millis) => {
    const { read, ahead, clock } = createClock()
    read(millis, 20)
    expect(ahead()).toBe(millis)
    expect(clock.offsetSeconds).toBe(millis / 1000)
  })

  it('is that of the machine while the difference is not certain', () => {
    const { read, ahead } = createClock()
    read(40, 100)
    expect(ahead()).toBe(0)
  })

  it('does not jump for a reading that agrees with what is known, and forgets a difference that is gone', () => {
    const { read, ahead } = createClock()
    read(60_000, 2)
    read(60_300, 1000)
    expect(ahead()).toBe(60_000)
    read(10, 100)
    expect(ahead()).toBe(0)
  })

  it('goes on when the clock of the machine is set, also while the database is away', () => {
    const { read, ahead, pass, clock } = createClock()
    read(60_000)
    pass(1_000, 3_600_000)
    expect(ahead()).toBe(61_000)
    pass(1_000, -7_200_000)
    expect(ahead()).toBe(62_000)
    expect(clock.offsetSeconds).toBe(60 + 3_600)
  })

  it('tells the operator once when the clock of the machine is wrong, and again when that changes much', () => {
    const { read, log } = createClock()
    for (const ahead of [4000, 600_000, 600_100, 597_000]) read(ahead)
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*check the time.*"offsetSeconds":600\}/)])
    read(300_000)
    read(0)
    expect(log.lines.slice(1)).toEqual([
      expect.stringContaining('"offsetSeconds":300'),
      expect.stringMatching(/^info .* agrees .* again/),
    ])
  })

  it('tells the operator also when the clock of the machine is set later', () => {
    const { read, pass, log } = createClock()
    read(0)
    pass(1_000, 3_600_000)
    read(0)
    read(0)
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*"offsetSeconds":-3600\}/)])
  })
})
