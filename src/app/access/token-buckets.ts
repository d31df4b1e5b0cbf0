/**
 * A rate limit for each of many sources: so much at once, and so much a second after that (token bucket).
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../replica/replica.ts'

/** How much one source may. */
export interface RateLimit {
  readonly burst: number
  readonly perSecond: number
}

/** What the buckets need. */
export interface TokenBucketsOptions extends RateLimit {
  readonly clock: Pick<Clock, 'monotonic'>
  /** How many sources are remembered: those not seen for long are forgotten, and begin with a full bucket again. */
  readonly capacity: number
}

export class TokenBuckets {
  readonly #options: TokenBucketsOptions
  readonly #buckets: LRUCache<string, { readonly left: number; readonly at: number }>

  constructor(options: TokenBucketsOptions) {
    this.#options = options
    this.#buckets = new LRUCache({ max: options.capacity })
  }

  /** Whether the source may once more. */
  has(source: string): boolean {
    return this.#left(source) >= 1
  }

  /** Counts one of what the source may. Only after `has`. */
  take(source: string): void {
    this.#buckets.set(source, { left: this.#left(source) - 1, at: this.#options.clock.monotonic() })
  }

  #left(source: string): number {
    const { burst, perSecond, clock } = this.#options
    const bucket = this.#buckets.get(source)
    if (bucket === undefined) return burst
    return Math.min(burst, bucket.left + ((clock.monotonic() - bucket.at) / 1000) * perSecond)
  }
}
