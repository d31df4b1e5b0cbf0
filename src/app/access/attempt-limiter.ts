/**
 * Rate limit for failed authentications, at the token endpoint and at the API: per client id or token and address, and per address.
 *
 * There is no limit per client id alone, because an attacker could then lock a client out from another address. Secrets and
 * keys cannot be guessed anyway. The limit bounds the work and the log lines that guessing causes.
 */
import { LRUCache } from 'lru-cache'
import { DomainError } from '../../domain/errors.ts'
import type { Clock } from '../../domain/time.ts'
import { networkOf } from './rate-limits.ts'

/** The longest client id that a service user can have: a UUID, `@` and a project name. */
const MAX_CLIENT_ID_LENGTH = 100

/** How many pairs, and how many addresses, are remembered. The least recently used is evicted. */
const CAPACITY = 10_000

/** From the first failure on, in milliseconds. */
const WINDOW = 60_000

export interface Attempt {
  /** The client id as it was sent, of any length; or the digest of a bearer token, which names no client. */
  readonly name: string
  /** The IP address of the other end of the connection; empty if it is not known. */
  readonly address: string
}

/** Of the failures of the name at the address, of all at the address, or both. */
type Limit = 'name' | 'address' | 'both'

export interface AttemptLimiterOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Failures in a window for one name from one address. Default 100: several clients may share an address. */
  readonly maxPerName?: number
  /** Failures in a window from one address. Default 1000. */
  readonly maxPerAddress?: number
}

export class AttemptLimiter {
  readonly #maxPerName: number
  readonly #maxPerAddress: number
  readonly #perName: LRUCache<string, number>
  readonly #perAddress: LRUCache<string, number>

  constructor({ clock, maxPerName = 100, maxPerAddress = 1000 }: AttemptLimiterOptions) {
    // Time 0 is no time for the cache.
    const perf = { now: () => clock.monotonic() + 1 }
    const windows = { max: CAPACITY, ttl: WINDOW, noUpdateTTL: true, ttlResolution: 0, perf }
    this.#maxPerName = maxPerName
    this.#maxPerAddress = maxPerAddress
    this.#perName = new LRUCache(windows)
    this.#perAddress = new LRUCache(windows)
  }

  /** How many whole seconds the caller must wait before the attempt; 0 if it may be made now. */
  blockedForSeconds(attempt: Attempt, by: Limit = 'both'): number {
    const network = networkOf(attempt.address)
    const byName = by === 'address' ? 0 : blockedMillis(this.#perName, pairOf(attempt, network), this.#maxPerName)
    const byAddress = by === 'name' ? 0 : blockedMillis(this.#perAddress, network, this.#maxPerAddress)
    return Math.ceil(Math.max(byName, byAddress) / 1000)
  }

  /**
   * @throws {DomainError} `too_many_failures`. Such an attempt is not counted as a failure, so that waiting helps.
   */
  assertMayTry(attempt: Attempt, by?: Limit): void {
    const seconds = this.blockedForSeconds(attempt, by)
    if (seconds === 0) return
    throw new DomainError('too_many_failures', 'too many failed authentications: try again later', {
      metadata: { retry_after_seconds: String(seconds) },
    })
  }

  fail(attempt: Attempt): void {
    this.failName(attempt)
    this.failAddress(attempt)
  }

  failAddress({ address }: Attempt): void {
    count(this.#perAddress, networkOf(address))
  }

  /**
   * Counts for the pair only. So does an attempt that could not be judged because the database is out of reach: an outage does not lift the
   * limit, and other clients at the address, who are in memory, still get tokens.
   */
  failName(attempt: Attempt): void {
    count(this.#perName, pairOf(attempt, networkOf(attempt.address)))
  }
}

function blockedMillis(windows: LRUCache<string, number>, key: string, max: number): number {
  return (windows.get(key) ?? 0) < max ? 0 : windows.getRemainingTTL(key)
}

function count(windows: LRUCache<string, number>, key: string): void {
  windows.set(key, (windows.get(key) ?? 0) + 1)
}

// A name that is cut off is longer than any client id, so it shares no count with one.
function pairOf({ name }: Attempt, network: string): string {
  return `${network} ${name.slice(0, MAX_CLIENT_ID_LENGTH + 1)}`
}
