/**
 * A semaphore: limits how much work runs at a time. The rest waits in order, and what exceeds the queue is refused.
 *
 * A second queue goes first: its work waits for one running piece at most, however long the other queue is.
 */

export interface SemaphoreOptions {
  readonly maxRunning: number
  /** How many may wait in each of the queues. */
  readonly maxWaiting: number
  /** Makes the error of work that is refused because its queue is full. */
  readonly refusal: () => Error
}

export class Semaphore {
  readonly #options: SemaphoreOptions
  readonly #waiting: (() => void)[] = []
  readonly #waitingFirst: (() => void)[] = []
  #running = 0

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /** @throws the refusal if too much work waits already. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#run(work, this.#waiting)
  }

  /** Goes before all that `run` lets wait. @throws the refusal if too much work goes first already. */
  runFirst<T>(work: () => Promise<T>): Promise<T> {
    return this.#run(work, this.#waitingFirst)
  }

  async #run<T>(work: () => Promise<T>, queue: (() => void)[]): Promise<T> {
    const { maxRunning, maxWaiting, refusal } = this.#options
    if (this.#running >= maxRunning) {
      if (queue.length >= maxWaiting) throw refusal()
      // Work that ends hands its permit over, so the number of permits in use stays the same.
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
