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

  /** A change of this date has been taken over so many milliseconds after the database's clock was read. */
  note(changedAt: Date, databaseTime: Date, sinceReading: number): void {
    const seconds = Math.max(0, databaseTime.getTime() - changedAt.getTime() + sinceReading) / 1000
    this.#seconds = seconds
    for (const listener of this.#listeners) listener(seconds)
  }

  /** Calls `listener` with each, until the returned function is called. */
  subscribe(listener: (seconds: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
