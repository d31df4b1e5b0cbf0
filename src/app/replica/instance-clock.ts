/**
 * The time of the instance, which dates tokens and ends credentials: that of the database's clock. It starts with what the
 * clock of this machine says, goes on with a monotonic clock, and is corrected by each reading of the database's.
 *
 * All replicas go by it, so that one whose clock is wrong, or is set while the database is away, does what the others do.
 *
 * If the database's clock goes back, it is followed only if the clock of this machine agrees (decision 15).
 */
import type { ClockReading } from '../../domain/ports/instance.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { MAX_DATE_AHEAD_SECONDS } from '../../domain/time.ts'

/** In seconds: how far clocks may differ without a warning, and how far the database's may go back and still be followed. */
const TOLERANCE = 5

/** For how long the time is held against the database's clock, which is what replicas have in common, in seconds. */
const MAX_HOLD = 86_400

/** What the clock needs. */
export interface InstanceClockOptions {
  /** The time of day on this machine. */
  readonly machine: () => Date
  /** Milliseconds of `performance.now()`. */
  readonly monotonic: () => number
  readonly log: Log
}

/**
 * How the database's clock relates to what else is known of the time.
 *
 * `behind`: it has gone back and this machine's has not, so the time is held. `overruled`: the same for too long, so it is followed.
 * `ahead`: it was ahead when the newest change was made, and this machine's clock agrees with what it says now.
 */
type Agreement = 'agrees' | 'behind' | 'overruled' | 'ahead'

/** All offsets are in milliseconds from the time that the clock of the machine would have had if it had never been set. */
export class InstanceClock {
  readonly #options: InstanceClockOptions
  /** What the clock of the machine said when the monotonic one began to count. */
  readonly #begin: number
  /** Of the time of the instance. */
  #offset = 0
  /** Of the database's clock. */
  #databaseOffset = 0
  #hasReading = false
  /** The date of the newest change, in milliseconds since 1970. */
  #latestChange = Number.NEGATIVE_INFINITY
  #agreement: Agreement = 'agrees'
  /** By the monotonic clock. */
  #disagreesSince: number | undefined
  #loggedOffset = 0

  constructor(options: InstanceClockOptions) {
    this.#options = options
    this.#begin = options.machine().getTime() - options.monotonic()
  }

  /** The time of the instance. */
  readonly now = (): Date => new Date(this.#elapsed() + this.#offset)

  /** The date that a change would get now, as far as is known: by the database's clock, and after every change before. */
  readonly changeTime = (): Date => {
    const database = this.#elapsed() + this.#databaseOffset
    return new Date(
      this.#latestChange - database > MAX_DATE_AHEAD_SECONDS * 1000 ? database : Math.max(database, this.#latestChange),
    )
  }

  /** How far the clock of the database is ahead of this machine's, in seconds, as far as is known. */
  get offsetSeconds(): number {
    return toSeconds(this.#databaseOffset - this.#machineOffset())
  }

  /** How far the clock of the database is behind the time that is held against it, in seconds. 0: nothing is held. */
  get heldSeconds(): number {
    return this.#agreement === 'behind' ? toSeconds(this.#offset - this.#databaseOffset) : 0
  }

  /** Warnings for the operator while the clocks disagree. */
  warnings(): readonly string[] {
    switch (this.#agreement) {
      case 'agrees':
        return []
      case 'behind':
        return [`the clock of the database has gone back by ${Math.round(this.heldSeconds)} s: check its time`]
      case 'overruled':
        return ['the clock of the database is behind what it was a day ago, and is followed: check its time']
      case 'ahead':
        return ['what is stored is dated in the future, as by a clock that was ahead: changes go on from that date']
    }
  }

  /** Takes a reading of the database's clock into account. */
  adjust({ databaseTime, latestChange, notBefore, notAfter }: ClockReading): void {
    const middle = this.#begin + (notBefore + notAfter) / 2
    // The database's clock has whole milliseconds.
    const uncertainty = (notAfter - notBefore) / 2 + 1
    const measured = databaseTime.getTime() - middle
    // Within the uncertainty the known offset is as good, and the time does not jump.
    if (Math.abs(measured - this.#databaseOffset) > uncertainty) {
      this.#databaseOffset = Math.abs(measured) <= uncertainty ? 0 : Math.round(measured)
    }
    this.#latestChange = latestChange?.getTime() ?? Number.NEGATIVE_INFINITY

    const known = this.#knownOffset(this.#latestChange - middle)
    const agreement = this.#judge(known, Math.max(TOLERANCE * 1000, uncertainty))
    this.#offset = agreement === 'behind' ? known : this.#databaseOffset
    this.#hasReading = true
    this.#setAgreement(agreement, toSeconds(known - this.#databaseOffset))
    // The clock of the machine may have been set meanwhile.
    if (agreement !== 'behind') this.#logOffset()
  }

  /** The latest of what proves that time has come so far: the time until now, and what is stored. */
  #knownOffset(latestChangeOffset: number): number {
    const stored =
      latestChangeOffset - this.#databaseOffset > MAX_DATE_AHEAD_SECONDS * 1000 ? undefined : latestChangeOffset
    // Before the first reading the time was the machine's, which proves nothing.
    const sofar = this.#hasReading ? this.#offset : undefined
    return Math.max(sofar ?? Number.NEGATIVE_INFINITY, stored ?? Number.NEGATIVE_INFINITY)
  }

  #judge(known: number, tolerance: number): Agreement {
    if (known - this.#databaseOffset <= tolerance) return 'agrees'
    // Whether it is nearer to what the database says than to what is known.
    const machineConfirms = this.#machineOffset() < (known + this.#databaseOffset) / 2
    if (machineConfirms) return 'ahead'
    const since = this.#disagreesSince
    const isHeldTooLong = since !== undefined && this.#options.monotonic() - since > MAX_HOLD * 1000
    return isHeldTooLong ? 'overruled' : 'behind'
  }

  #setAgreement(agreement: Agreement, seconds: number): void {
    const before = this.#agreement
    this.#agreement = agreement
    if (agreement === 'behind') this.#disagreesSince ??= this.#options.monotonic()
    if (agreement === 'agrees' || agreement === 'ahead') this.#disagreesSince = undefined
    if (agreement === before) return
    const { log } = this.#options
    const facts = { seconds }
    switch (agreement) {
      case 'agrees':
        log.info({}, 'the clock of the database agrees again with what it has dated')
        break
      case 'behind':
        log.warn(
          facts,
          'the clock of the database has gone back and that of this machine has not: the time goes on from where it was, ' +
            'check the time of both machines',
        )
        break
      case 'overruled':
        log.error(facts, 'the clock of the database has been behind for a day and is followed now: check its time')
        break
      case 'ahead':
        log.warn(
          facts,
          'the clock of the database was ahead and has gone back to what this machine says: it is followed',
        )
        break
    }
  }

  #logOffset(): void {
    const { offsetSeconds } = this
    if (Math.abs(offsetSeconds - this.#loggedOffset) <= TOLERANCE) return
    this.#loggedOffset = offsetSeconds
    const facts = { offsetSeconds }
    if (Math.abs(offsetSeconds) <= TOLERANCE) {
      this.#options.log.info(facts, 'the clock of this machine agrees with that of the database again')
    } else {
      this.#options.log.warn(
        facts,
        'the clock of this machine is not that of the database, which is used instead: check the time of both machines',
      )
    }
  }

  /** What the clock of the machine would say if it had never been set. */
  #elapsed(): number {
    return this.#begin + this.#options.monotonic()
  }

  #machineOffset(): number {
    return this.#options.machine().getTime() - this.#elapsed()
  }
}

function toSeconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000
}
