/**
 * How long ago the database confirmed what a replica knows, and whether it could be asked the last time.
 *
 * The first decides whether the replica may serve, the second whether there is any use in calling the database.
 */
import { DomainError } from '../domain/errors.ts'
import type { Log } from '../domain/ports.ts'
import type { Clock } from './replica.ts'

/** How often a failure that goes on is logged, in milliseconds. */
const TELL_EVERY = 60_000

/** What is needed to judge. */
export interface DatabaseContactOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
  /** How long to go on without the database, in seconds. */
  readonly maxStalenessSeconds: number
}

export class DatabaseContact {
  readonly #options: DatabaseContactOptions
  #confirmedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  #toldAt = Number.NEGATIVE_INFINITY
  #told = ''

  constructor(options: DatabaseContactOptions) {
    this.#options = options
  }

  /** What is in memory was confirmed. @param at When that was asked for, by the monotonic clock. */
  confirmed(at: number): void {
    this.#confirmedAt = at
    if (this.#told !== '') this.#options.log.info({}, 'the state of the instance can be read again')
    this.#failure = undefined
    this.#told = ''
  }

  /** It could not be confirmed. */
  failed(error: unknown): void {
    this.#failure = error
  }

  /** Logs that it could not be confirmed: when it begins, when the reason changes, and now and then. */
  tell(): void {
    const { clock, log } = this.#options
    const reason = String(this.#failure)
    if (reason === this.#told && clock.monotonic() - this.#toldAt < TELL_EVERY) return
    this.#told = reason
    this.#toldAt = clock.monotonic()
    log.warn({ err: this.#failure }, 'the state of the instance could not be read')
  }

  get stalenessSeconds(): number {
    return (this.#options.clock.monotonic() - this.#confirmedAt) / 1000
  }

  isFresh(): boolean {
    return this.stalenessSeconds <= this.#options.maxStalenessSeconds
  }

  /** Whether the database could be used the last time. */
  isReachable(): boolean {
    return unavailability(this.#failure) === undefined
  }

  /** @throws {DomainError} `storage_unavailable` if what is in memory is too old to be served. */
  assertFresh(): void {
    if (!this.isFresh()) {
      throw new DomainError('storage_unavailable', 'the database has not been reached for too long: try again later')
    }
  }

  /** @throws {DomainError} `storage_unavailable` if a call to the database would only wait for the same failure. */
  assertReachable(): void {
    const unavailable = unavailability(this.#failure)
    if (unavailable !== undefined) throw new DomainError('storage_unavailable', unavailable.message)
  }

  /** What an operator should know while what is in memory may still be served. */
  warnings(): readonly string[] {
    const unavailable = unavailability(this.#failure)
    if (unavailable === undefined) return []
    const { maxStalenessSeconds } = this.#options
    const passed = Math.floor(this.stalenessSeconds)
    return [
      `${unavailable.message}: tokens go on from memory for ${maxStalenessSeconds} s, of which ${passed} s have passed`,
    ]
  }

  /** Why what is in memory is too old, in words that anybody may read. */
  whyStale(): string {
    const age = Number.isFinite(this.#confirmedAt) ? `for ${Math.floor(this.stalenessSeconds)} s` : 'yet'
    const why = unavailability(this.#failure)?.message ?? 'what it says cannot be taken over, the log says why'
    const limit = `the limit is ${this.#options.maxStalenessSeconds} s`
    return `the database has not confirmed the state of the instance ${age}, ${limit}: ${why}`
  }
}

function unavailability(failure: unknown): DomainError | undefined {
  return failure instanceof DomainError && failure.code === 'storage_unavailable' ? failure : undefined
}
