/**
 * Reloads a value when it may have changed. Only the latest reload counts; a failed one is retried.
 */

/** What is loaded, and its callbacks. */
export interface ReloaderOptions<T> {
  readonly read: () => Promise<T>
  readonly onRead: (value: T) => void
  readonly onFailure: (error: unknown) => void
  /** The delay before a retry, in milliseconds. */
  readonly retryAfter: number
}

const MAX_RETRIES = 10

export class Reloader<T> {
  readonly #options: ReloaderOptions<T>
  #latest = 0
  #retry: NodeJS.Timeout | undefined

  constructor(options: ReloaderOptions<T>) {
    this.#options = options
  }

  /** Reloads. The result of a reload in progress is discarded. */
  start(): void {
    void this.#read(MAX_RETRIES)
  }

  /** No callback is called from now on. */
  stop(): void {
    this.#latest += 1
    clearTimeout(this.#retry)
  }

  async #read(retries: number): Promise<void> {
    this.stop()
    const reload = this.#latest
    const { read, onRead, onFailure, retryAfter } = this.#options
    try {
      const value = await read()
      if (reload === this.#latest) onRead(value)
    } catch (error) {
      if (reload !== this.#latest) return
      onFailure(error)
      if (retries > 0) this.#retry = setTimeout(() => this.#read(retries - 1), retryAfter).unref()
    }
  }
}
