/**
 * Runs many small pieces of work as few large ones: what comes while batches run goes into the next, so work that comes alone waits for
 * nothing.
 */

/** The limits of batches, and what runs one. */
export interface BatchesOptions<Item, Result> {
  /** Returns the result of each item, in the order of the items. If it fails, all of them fail alike. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** How many batches run at the same time. */
  readonly maxRunning: number
  readonly maxItems: number
  /** How many items may wait. */
  readonly maxWaiting: number
  /** Makes the error of an item that is refused because too many wait. */
  readonly refusal: () => Error
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export class Batches<Item, Result> {
  readonly #options: BatchesOptions<Item, Result>
  readonly #waiting: Waiting<Item, Result>[] = []
  #running = 0

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = options
  }

  /** The result of one item. @throws the refusal if too many wait; what the batch throws. */
  request(item: Item): Promise<Result> {
    const { maxWaiting, refusal } = this.#options
    if (this.#waiting.length >= maxWaiting) return Promise.reject(refusal())
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#start()
    })
  }

  #start(): void {
    const { maxRunning, maxItems } = this.#options
    if (this.#running >= maxRunning || this.#waiting.length === 0) return
    this.#running += 1
    void this.#runBatch(this.#waiting.splice(0, maxItems))
  }

  async #runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const outcome = await settled(this.#options.run(batch.map(({ item }) => item)))
    this.#running -= 1
    this.#start()
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (outcome.status === 'rejected') reject(outcome.reason)
      else resolve(outcome.value[index] as Result)
    }
  }
}

async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [outcome] = await Promise.allSettled([work])
  return outcome
}
