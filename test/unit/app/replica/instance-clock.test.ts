import { describe, expect, it } from '@jest/globals'
import { InstanceClock } from '../../../../src/app/replica/instance-clock.ts'
import { createRecordingLog } from '../../../support/log.ts'

const MACHINE = Date.UTC(2026, 0, 1)

/** A clock, and readings of a database whose clock is ahead by so many milliseconds, answered in so many. */
function createClock() {
  const log = createRecordingLog()
  const time = { machine: MACHINE, monotonic: 5_000 }
  const clock = new InstanceClock({ machine: () => new Date(time.machine), monotonic: () => time.monotonic, log })
  /** @param stored How far the newest change is ahead of the right time. */
  const read = (ahead: number, roundTrip = 0, stored?: number) =>
    clock.adjust({
      databaseTime: new Date(MACHINE + ahead + time.monotonic - 5_000),
      latestChange: stored === undefined ? null : new Date(MACHINE + stored + time.monotonic - 5_000),
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
    read(900_000)
    expect(log.lines.slice(1)).toEqual([expect.stringContaining('"offsetSeconds":900')])
  })

  it('tells the operator that the clock of the machine agrees again', () => {
    const { read, pass, log } = createClock()
    read(600_000)
    pass(1000, 600_000)
    read(600_000)
    expect(log.lines.slice(1)).toEqual([expect.stringMatching(/^info .* agrees .* again/)])
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

describe('a database whose clock goes back', () => {
  const HOUR = 3_600_000
  const DAY = 24 * HOUR

  it('by an hour, while that of the machine does not, is not believed', () => {
    const { read, pass, clock, ahead } = createClock()
    read(0)
    pass(1000)
    read(-HOUR)
    expect(ahead()).toBe(1000)
    pass(1000)
    read(-HOUR)
    expect(ahead()).toBe(2000)
    expect(clock.heldSeconds).toBe(3600)
    expect(clock.offsetSeconds).toBe(-3600)
    expect(clock.warnings()).toEqual([expect.stringContaining('gone back by 3600 s')])
    expect(clock.changeTime()).toEqual(new Date(MACHINE - HOUR + 2000))
  })

  it('is told of once, and once more when it is right again', () => {
    const { read, clock, log } = createClock()
    for (const ahead of [0, -HOUR, -HOUR, -HOUR + 50, 0, 0]) read(ahead)
    expect(log.lines).toEqual([
      expect.stringMatching(/^warn the clock of the database has gone back .*"seconds":3600\}/),
      expect.stringMatching(/^info the clock of the database agrees again/),
    ])
    expect({ held: clock.heldSeconds, warnings: clock.warnings() }).toEqual({ held: 0, warnings: [] })
  })

  it.each([600_000, -600_000])('is not believed either by a machine whose clock is %d ms off', (off) => {
    const { read, pass, ahead } = createClock()
    pass(0, off)
    read(0)
    read(-HOUR)
    expect(ahead()).toBe(0)
  })

  it('to what the machine says is followed: it was ahead before', () => {
    const { read, ahead, clock, log } = createClock()
    read(HOUR)
    read(0, 0, HOUR)
    expect(ahead()).toBe(0)
    expect(clock.heldSeconds).toBe(0)
    expect(clock.warnings()).toEqual([expect.stringContaining('dated in the future')])
    // Changes wait for their time all the same.
    expect(clock.changeTime()).toEqual(new Date(MACHINE + HOUR))
    read(0, 0, HOUR)
    expect(log.lines.filter((line) => line.includes('was ahead'))).toHaveLength(1)
    read(0, 0, 0)
    expect(clock.warnings()).toEqual([])
  })

  it('is followed when the clock of the machine goes back as well', () => {
    const { read, pass, ahead, clock } = createClock()
    read(0)
    read(-HOUR)
    pass(0, -HOUR)
    read(-HOUR)
    expect(ahead()).toBe(-HOUR)
    expect(clock.heldSeconds).toBe(0)
  })

  it('by no more than what a machine is off without a word is followed', () => {
    const { read, ahead, log } = createClock()
    read(0)
    read(-4000)
    expect(ahead()).toBe(-4000)
    expect(log.lines).toEqual([])
  })

  it('is noticed at the start by what is stored, and the time goes on from there', () => {
    const { read, pass, ahead, clock } = createClock()
    read(-HOUR, 0, -60_000)
    expect(ahead()).toBe(-60_000)
    pass(5000)
    read(-HOUR, 0, -65_000)
    expect(ahead()).toBe(-60_000 + 5000)
    expect(clock.heldSeconds).toBe(3600 - 60)
  })

  it('is followed after a day, because replicas that start since go by it', () => {
    const { read, pass, ahead, clock, log } = createClock()
    read(0)
    read(-HOUR, 0, 0)
    pass(DAY)
    read(-HOUR, 0, -HOUR + 1)
    expect(ahead()).toBe(DAY)
    pass(1)
    read(-HOUR, 0, -60_000)
    read(-HOUR, 0, -60_000)
    expect(ahead()).toBe(DAY - HOUR + 1)
    expect(clock.warnings()).toEqual([expect.stringContaining('behind what it was a day ago')])
    expect(log.lines.filter((line) => line.startsWith('error'))).toHaveLength(1)
    read(0)
    expect(clock.warnings()).toEqual([])
  })

  it('is believed against a stored date that is more than a day ahead', () => {
    const { read, ahead, clock } = createClock()
    read(0, 0, DAY + 60_000)
    expect(ahead()).toBe(0)
    expect(clock.changeTime()).toEqual(new Date(MACHINE))
    expect(clock.warnings()).toEqual([])
  })

  it('is not concluded from a reading that took longer than it went back', () => {
    const { read, ahead } = createClock()
    read(0)
    read(-20_000, 60_000)
    expect(ahead()).toBe(0)
  })
})
