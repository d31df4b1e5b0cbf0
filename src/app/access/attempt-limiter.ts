/**
 * Rate limit for failed authentications, at the token endpoint and at the API: per client id or token and address, and per address.
 *
 * There is no limit per client id alone, because an attacker could then lock a client out from another address. Secrets and
 * keys cannot be guessed anyway. The limit bounds the work and the log lines that guessing causes.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../domain/time.ts'
import { networkOf } from './network.ts'

/** The longest client id that a service user can have: a UUID, `@` and a project name. */
const MAX_CLIENT_ID_LENGTH = 100

/** An attempt to authenticate, from an address. */
export interface Attempt {
  /** The client id as it was sent, of any length; or the digest of a bearer token, which names no client. */
  readonly name: string
  /** The IP address of the other end of the connection; empty if it is not known. */
  readonly address: string
}

/** What a limiter is made of. */
export interface AttemptLimiterOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Failures in a window for one name from one address. Default 100: several clients may share an address. */
  readonly maxPerName?: number
  /** Failures in a window from one address. Default 1000. */
  readonly maxPerAddress?: number
  /** From the first failure on, in seconds. Default 60. */
  readonly windowSeconds?: number
  /** How many pairs, and how many addresses, are remembered. The least recently used is evicted. Default 10,000. */
  readonly capacity?: number
}

interface Window {
  readonly failures: number
  /** On the clock. */
  readonly endsAt: number
}

export class AttemptLimiter {
  readonly #clock: AttemptLimiterOptions['clock']
  readonly #windowMillis: number
  readonly #maxPerName: number
  readonly #maxPerAddress: number
  readonly #perName: LRUCache<string, Window>
  readonly #perAddress: LRUCache<string, Window>

  constructor(options: AttemptLimiterOptions) {
    const { clock, maxPerName = 100, maxPerAddress = 1000, windowSeconds = 60, capacity = 10_000 } = options
    this.#clock = clock
    this.#windowMillis = windowSeconds * 1000
    this.#maxPerName = maxPerName
    this.#maxPerAddress = maxPerAddress
    this.#perName = new LRUCache({ max: capacity })
    this.#perAddress = new LRUCache({ max: capacity })
  }

  /**
   * How many whole seconds the caller must wait before the attempt; 0 if it may be made now.
   *
   * An attempt that was not made must not be counted as a failure, so that waiting helps.
   */
  blockedForSeconds(attempt: Attempt): number {
    const network = networkOf(attempt.address)
    const ends = [
      this.#blockedUntil(this.#perName.get(pairOf(attempt, network)), this.#maxPerName),
      this.#blockedUntil(this.#perAddress.get(network), this.#maxPerAddress),
    ]
    const millis = Math.max(...ends) - this.#clock.monotonic()
    return Math.max(0, Math.ceil(millis / 1000))
  }

  /** Counts an attempt that was made and failed. */
  fail(attempt: Attempt): void {
    const network = networkOf(attempt.address)
    this.#count(this.#perName, pairOf(attempt, network))
    this.#count(this.#perAddress, network)
  }

  /**
   * Counts an attempt that could not be judged because the database is out of reach, so that an outage does not lift the limit. It
   * counts for the pair only: other clients at the address, who are in memory, still get tokens.
   */
  leaveOpen(attempt: Attempt): void {
    this.#count(this.#perName, pairOf(attempt, networkOf(attempt.address)))
  }

  /** How many entries there are, at most twice the capacity. */
  get size(): number {
    return this.#perName.size + this.#perAddress.size
  }

  #blockedUntil(window: Window | undefined, max: number): number {
    return window === undefined || window.failures < max ? Number.NEGATIVE_INFINITY : window.endsAt
  }

  #count(windows: LRUCache<string, Window>, key: string): void {
    const now = this.#clock.monotonic()
    const window = windows.get(key)
    const { failures, endsAt } =
      window === undefined || window.endsAt <= now ? { failures: 0, endsAt: now + this.#windowMillis } : window
    windows.set(key, { failures: failures + 1, endsAt })
  }
}

// A name that is cut off is longer than any client id, so it shares no count with one.
function pairOf({ name }: Attempt, network: string): string {
  return `${network} ${name.slice(0, MAX_CLIENT_ID_LENGTH + 1)}`
}
