/**
 * Token buckets: a rate limit with a burst for each of many sources.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../domain/time.ts'

/** The rate limit of one source. */
export interface RateLimit {
  readonly burst: number
  readonly perSecond: number
}

/** What the buckets need. */
export interface TokenBucketsOptions extends RateLimit {
  readonly clock: Pick<Clock, 'monotonic'>
  /** How many sources are remembered. The least recently used is evicted, and begins with a full bucket again. */
  readonly capacity: number
}

export class TokenBuckets {
  readonly #options: TokenBucketsOptions
  readonly #buckets: LRUCache<string, { readonly left: number; readonly at: number }>

  constructor(options: TokenBucketsOptions) {
    this.#options = options
    this.#buckets = new LRUCache({ max: options.capacity })
  }

  /** Whether the source has a token left. */
  has(source: string): boolean {
    return this.#left(source) >= 1
  }

  /** Takes a token of the source. Only after `has`. */
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
