/**
 * How long changes of other processes take to get here.
 */

export class ChangeLag {
  readonly #listeners = new Set<(seconds: number) => void>()
  #seconds: number | null = null

  /** The last one in seconds, at most; null if there has been none. */
  get seconds(): number | null {
    return this.#seconds
  }

  note(seconds: number): void {
    this.#seconds = seconds
    for (const listener of this.#listeners) listener(seconds)
  }

  /** Calls `listener` with each, until the returned function is called. */
  subscribe(listener: (seconds: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
