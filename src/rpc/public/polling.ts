/**
 * Polls conditions with one timer for all waiters, which runs only while there are waiters.
 */
import type { Clock } from '../../domain/time.ts'

interface Waiter {
  readonly condition: () => boolean
  readonly stop: () => void
}

export class Polling {
  readonly #clock: Clock
  readonly #interval: number
  readonly #waiters = new Set<Waiter>()
  #cancelTimer: (() => void) | undefined

  /** @param interval The time between two checks, in milliseconds. */
  constructor(clock: Clock, interval: number) {
    this.#clock = clock
    this.#interval = interval
  }

  /** Resolves once the condition holds or the signal is aborted. The condition must be cheap. */
  until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted || condition()) return Promise.resolve()
    return new Promise((resolve) => {
      const stop = () => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', stop)
        if (this.#waiters.size === 0) this.#stopTimer()
        resolve()
      }
      const waiter = { condition, stop }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', stop)
      this.#cancelTimer ??= this.#clock.after(this.#interval, () => this.#check())
    })
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #check(): void {
    this.#cancelTimer = this.#clock.after(this.#interval, () => this.#check())
    for (const { condition, stop } of [...this.#waiters]) {
      if (condition()) stop()
    }
  }
}
