/** Single flight: callers share one run of an operation. Each caller gets a run that began after its call. */
import type { Clock } from '../../domain/time.ts'

/** One run at a time. Callers during a run share the next one, because the current one may have read too early. */
export class SingleFlight<T> {
  readonly #run: () => Promise<T>
  #running: Promise<T> | undefined
  #next: Promise<T> | undefined

  constructor(run: () => Promise<T>) {
    this.#run = run
  }

  /** Resolves after a run that began no sooner than this call. Fails as that does. */
  request(): Promise<T> {
    if (this.#running === undefined) {
      this.#running = this.#run().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.request()
      })
    return this.#next
  }

  get isIdle(): boolean {
    return this.#running === undefined && this.#next === undefined
  }

  /** Waits until nothing runs, whether it fails or not. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next])
  }
}

/** A single flight for each key. Only keys with a run are remembered. */
export class SingleFlightByKey<T> {
  readonly #run: (key: string) => Promise<T>
  readonly #runs = new Map<string, SingleFlight<T>>()

  constructor(run: (key: string) => Promise<T>) {
    this.#run = run
  }

  /** Resolves after a run for this key that began no sooner than this call. Fails as that does. */
  request(key: string): Promise<T> {
    const runs = this.#runs.get(key) ?? new SingleFlight(() => this.#run(key))
    this.#runs.set(key, runs)
    return runs.request().finally(() => {
      if (runs.isIdle && this.#runs.get(key) === runs) this.#runs.delete(key)
    })
  }
}

interface ThrottleOptions {
  readonly clock: Clock
  readonly everyMilliseconds: number
  readonly run: () => Promise<void>
}

/** A throttle: the least time from the beginning of a run to that of the next. A longer run does not delay the next one. */
export class Throttled {
  readonly #options: ThrottleOptions
  #beganAt = Number.NEGATIVE_INFINITY
  #waiting: Promise<void> | undefined

  constructor(options: ThrottleOptions) {
    this.#options = options
  }

  /** Resolves after a run that began no sooner than this call. Fails as that does. */
  request(): Promise<void> {
    this.#waiting ??= this.#pause().then(() => {
      this.#waiting = undefined
      this.#beganAt = this.#options.clock.monotonic()
      return this.#options.run()
    })
    return this.#waiting
  }

  async #pause(): Promise<void> {
    const { clock, everyMilliseconds } = this.#options
    const wait = this.#beganAt + everyMilliseconds - clock.monotonic()
    if (wait > 0) await new Promise<void>((resolve) => clock.after(wait, resolve))
  }
}
