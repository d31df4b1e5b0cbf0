/**
 * The replication lag: how long changes of other processes take to reach this one.
 */

export class ChangeLag {
  readonly #listeners = new Set<(seconds: number) => void>()
  #seconds: number | null = null

  /** Of the last change, at most; null if there has been none. */
  get seconds(): number | null {
    return this.#seconds
  }

  /** Measures a change. @param sinceReading Milliseconds since the database's clock was read. */
  observe(changedAt: Date, databaseTime: Date, sinceReading: number): void {
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
