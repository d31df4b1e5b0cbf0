/**
 * Limits how many run at a time. The others wait in order, and when too many wait, more are refused.
 */
import { DomainError } from '../domain/errors.ts'

export class Semaphore {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  /** @throws {DomainError} `storage_unavailable` if too many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#maxRunning) {
      if (this.#waiting.length >= this.#maxWaiting) {
        throw new DomainError('storage_unavailable', 'too many requests are waiting for the database: try again later')
      }
      // Whoever ends hands its place over, so the number of those who run stays the same.
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
