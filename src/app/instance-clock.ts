/**
 * The time of the instance: that of the database's clock, which dates everything that is stored, kept by the clock of
 * this machine and corrected by how far the two are apart.
 *
 * All replicas date tokens and end credentials by it, so that one whose clock is wrong does what the others do.
 */
import type { ClockReading, Log } from '../domain/ports.ts'

/** How far the machine's clock may be off before the operator is told, in milliseconds. */
const WORTH_TELLING = 5_000

/** What the clock needs. */
export interface InstanceClockOptions {
  /** The clock of this machine. */
  readonly machine: () => Date
  readonly log: Log
}

export class InstanceClock {
  readonly #options: InstanceClockOptions
  #offset = 0
  #told = 0

  constructor(options: InstanceClockOptions) {
    this.#options = options
  }

  /** The time of the instance. */
  readonly now = (): Date => new Date(this.#options.machine().getTime() + this.#offset)

  /** How far the clock of the instance is ahead of this machine's, in seconds, as far as is known. */
  get offsetSeconds(): number {
    return this.#offset / 1000
  }

  /** Takes a reading of the database's clock into account. */
  adjust({ databaseTime, notBefore, notAfter }: ClockReading): void {
    // The machine's clock was set in between.
    if (notAfter < notBefore) return
    const middle = (notBefore.getTime() + notAfter.getTime()) / 2
    // The database tells whole milliseconds.
    const uncertainty = (notAfter.getTime() - notBefore.getTime()) / 2 + 1
    const measured = databaseTime.getTime() - middle
    // What is known already may as well be right, and a time that does not jump is the better one.
    if (Math.abs(measured - this.#offset) <= uncertainty) return
    this.#offset = Math.abs(measured) <= uncertainty ? 0 : Math.round(measured)
    this.#tell()
  }

  #tell(): void {
    if (Math.abs(this.#offset - this.#told) <= WORTH_TELLING) return
    this.#told = this.#offset
    const facts = { offsetSeconds: this.offsetSeconds }
    if (Math.abs(this.#offset) <= WORTH_TELLING) {
      this.#options.log.info(facts, 'the clock of this machine agrees with that of the database again')
    } else {
      this.#options.log.warn(
        facts,
        'the clock of this machine is not that of the database, which is used instead: check the time of both machines',
      )
    }
  }
}
