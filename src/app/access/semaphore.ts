/**
 * Limits how many run at a time. The others wait in order, and when too many wait, more are refused.
 *
 * There is a second queue for work that goes first: it waits for one place at most, however many wait in the other queue.
 */
import { DomainError } from '../../domain/errors.ts'

export class Semaphore {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  readonly #waitingFirst: (() => void)[] = []
  #running = 0

  /** @param maxWaiting How many may wait in each of the queues. */
  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  /** @throws {DomainError} `storage_unavailable` if too many wait already. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#run(work, this.#waiting)
  }

  /** Goes before all that `run` lets wait. @throws {DomainError} `storage_unavailable` if too many go first already. */
  runFirst<T>(work: () => Promise<T>): Promise<T> {
    return this.#run(work, this.#waitingFirst)
  }

  async #run<T>(work: () => Promise<T>, queue: (() => void)[]): Promise<T> {
    if (this.#running >= this.#maxRunning) {
      if (queue.length >= this.#maxWaiting) {
        throw new DomainError('storage_unavailable', 'too many requests are waiting for the database: try again later')
      }
      // Whoever ends hands its place over, so the number of those who run stays the same.
      await new Promise<void>((resolve) => queue.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      const next = this.#waitingFirst.shift() ?? this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
