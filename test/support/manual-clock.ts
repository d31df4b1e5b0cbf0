/**
 * A clock that stands still until a test moves it.
 */
import type { Clock } from '../../src/domain/time.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export class ManualClock implements Clock {
  #now = 0
  readonly #timers = new Set<Timer>()

  monotonic(): number {
    return this.#now
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.#now + milliseconds, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Moves on and calls back who waited for it, in the order of their times. */
  advance(milliseconds: number): void {
    this.#now += milliseconds
    const due = [...this.#timers].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at)
    for (const timer of due) {
      if (this.#timers.delete(timer)) timer.callback()
    }
  }

  /** How many callbacks are waiting. */
  get waiting(): number {
    return this.#timers.size
  }
}
