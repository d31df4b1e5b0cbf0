/**
 * Reads something again whenever it may have changed, and sees to it that what was read last counts last.
 */

/** What is read, and who is told. */
export interface ReloaderOptions<T> {
  readonly read: () => Promise<T>
  readonly onRead: (value: T) => void
  readonly onFailure: (error: unknown) => void
  /** How long to wait before a reading that failed is tried again, in milliseconds. */
  readonly retryAfter: number
}

/** A failure may pass, and nothing may change any more that would cause another reading. */
const MAX_RETRIES = 10

export class Reloader<T> {
  readonly #options: ReloaderOptions<T>
  #newest = 0
  #retry: NodeJS.Timeout | undefined

  constructor(options: ReloaderOptions<T>) {
    this.#options = options
  }

  /** Reads once more. Whatever was being read until now counts no more. */
  start(): void {
    void this.#read(MAX_RETRIES)
  }

  /** Nobody is told anything from now on. */
  stop(): void {
    this.#newest += 1
    clearTimeout(this.#retry)
  }

  async #read(retries: number): Promise<void> {
    this.stop()
    const turn = this.#newest
    const { read, onRead, onFailure, retryAfter } = this.#options
    try {
      const value = await read()
      if (turn === this.#newest) onRead(value)
    } catch (error) {
      if (turn !== this.#newest) return
      onFailure(error)
      if (retries > 0) this.#retry = setTimeout(() => this.#read(retries - 1), retryAfter).unref()
    }
  }
}
