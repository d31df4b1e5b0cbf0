/**
 * The time of the instance: that of the database's clock, which dates everything that is stored. It starts with what the
 * clock of this machine says, goes on with a clock that nobody sets, and is corrected by each reading of the database's.
 *
 * All replicas date tokens and end credentials by it, so that one whose clock is wrong, or is set while the database is
 * away, does what the others do.
 */
import type { ClockReading, Log } from '../domain/ports.ts'

/** How far the machine's clock may be off before the operator is told, in seconds. */
const WORTH_TELLING = 5

/** What the clock needs. */
export interface InstanceClockOptions {
  /** The time of day on this machine. */
  readonly machine: () => Date
  /** Milliseconds of `performance.now()`. */
  readonly monotonic: () => number
  readonly log: Log
}

export class InstanceClock {
  readonly #options: InstanceClockOptions
  /** What the clock of the machine said when the monotonic one began to count, in milliseconds. */
  readonly #begin: number
  #offset = 0
  #told = 0

  constructor(options: InstanceClockOptions) {
    this.#options = options
    this.#begin = options.machine().getTime() - options.monotonic()
  }

  /** The time of the instance. */
  readonly now = (): Date => new Date(this.#begin + this.#options.monotonic() + this.#offset)

  /** How far the clock of the instance is ahead of this machine's, in seconds, as far as is known. */
  get offsetSeconds(): number {
    return Math.round(this.now().getTime() - this.#options.machine().getTime()) / 1000
  }

  /** Takes a reading of the database's clock into account. */
  adjust({ databaseTime, notBefore, notAfter }: ClockReading): void {
    const middle = this.#begin + (notBefore + notAfter) / 2
    // The database tells whole milliseconds.
    const uncertainty = (notAfter - notBefore) / 2 + 1
    const measured = databaseTime.getTime() - middle
    // What is known already may as well be right, and a time that does not jump is the better one.
    if (Math.abs(measured - this.#offset) > uncertainty) {
      this.#offset = Math.abs(measured) <= uncertainty ? 0 : Math.round(measured)
    }
    // The clock of the machine may have been set meanwhile.
    this.#tell()
  }

  #tell(): void {
    const { offsetSeconds } = this
    if (Math.abs(offsetSeconds - this.#told) <= WORTH_TELLING) return
    this.#told = offsetSeconds
    const facts = { offsetSeconds }
    if (Math.abs(offsetSeconds) <= WORTH_TELLING) {
      this.#options.log.info(facts, 'the clock of this machine agrees with that of the database again')
    } else {
      this.#options.log.warn(
        facts,
        'the clock of this machine is not that of the database, which is used instead: check the time of both machines',
      )
    }
  }
}
