/**
 * How far the clock of the database is ahead of the clock of this machine, by the last comparison. Neither is corrected by the other
 * (decision 15): whose clock is wrong is for NTP and the operator to say.
 */
import type { Log } from '../../domain/ports/runtime.ts'
import { MAX_CLOCK_OFFSET_SECONDS } from '../../domain/time.ts'

/** In seconds, without a warning. */
const TOLERANCE = 5

export class ClockOffset {
  readonly #log: Log
  #seconds = 0

  constructor({ log }: { readonly log: Log }) {
    this.#log = log
  }

  get seconds(): number {
    return this.#seconds
  }

  /** Whether changes may be made by themselves, which the clock of the database dates. */
  get isTolerable(): boolean {
    return Math.abs(this.#seconds) <= MAX_CLOCK_OFFSET_SECONDS
  }

  observe(seconds: number): void {
    const wasOff = this.#isOff()
    this.#seconds = seconds
    if (this.#isOff() === wasOff) return
    const facts = { offsetSeconds: seconds }
    if (wasOff) this.#log.info(facts, 'the clocks of this machine and of the database agree again')
    else this.#log.warn(facts, 'the clocks of this machine and of the database differ: check the time of both')
  }

  whyNotReady(): string | undefined {
    return this.isTolerable ? undefined : `${this.#text()}, the limit is ${MAX_CLOCK_OFFSET_SECONDS} s`
  }

  warnings(): readonly string[] {
    return this.#isOff() ? [this.#text()] : []
  }

  #isOff(): boolean {
    return Math.abs(this.#seconds) > TOLERANCE
  }

  #text(): string {
    const direction = this.#seconds > 0 ? 'ahead of' : 'behind'
    return `the clock of the database is ${Math.round(Math.abs(this.#seconds))} s ${direction} that of this machine: check the time of both`
  }
}
