/**
 * Waits for conditions that nobody announces: one timer for all who wait, and none while nobody does.
 */
import type { Clock } from '../../domain/time.ts'

interface Waiter {
  readonly condition: () => boolean
  readonly stop: () => void
}

export class Polling {
  readonly #clock: Clock
  readonly #every: number
  readonly #waiters = new Set<Waiter>()
  #cancelTimer: (() => void) | undefined

  /** @param every How often conditions are looked at, in milliseconds. */
  constructor(clock: Clock, every: number) {
    this.#clock = clock
    this.#every = every
  }

  /** Resolves once the condition holds or the signal is aborted. The condition must be cheap. */
  until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted || condition()) return Promise.resolve()
    return new Promise((resolve) => {
      const stop = () => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', stop)
        if (this.#waiters.size === 0) this.#rest()
        resolve()
      }
      const waiter = { condition, stop }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', stop)
      this.#cancelTimer ??= this.#clock.after(this.#every, () => this.#look())
    })
  }

  #rest(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #look(): void {
    this.#cancelTimer = this.#clock.after(this.#every, () => this.#look())
    for (const { condition, stop } of [...this.#waiters]) {
      if (condition()) stop()
    }
  }
}
