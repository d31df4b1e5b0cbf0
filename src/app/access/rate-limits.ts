/** Token buckets: a rate limit with a burst for each of many sources, and the network of an address, which counts as one source. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../domain/time.ts'

export interface RateLimit {
  readonly burst: number
  readonly perSecond: number
}

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

  has(source: string): boolean {
    return this.#left(source) >= 1
  }

  /** Takes a token of the source. @returns Whether there was one. */
  take(source: string): boolean {
    const left = this.#left(source)
    if (left < 1) return false
    this.#buckets.set(source, { left: left - 1, at: this.#options.clock.monotonic() })
    return true
  }

  #left(source: string): number {
    const { burst, perSecond, clock } = this.#options
    const bucket = this.#buckets.get(source)
    if (bucket === undefined) return burst
    return Math.min(burst, bucket.left + ((clock.monotonic() - bucket.at) / 1000) * perSecond)
  }
}

/**
 * The network of an address, among whose addresses a client can choose: an IPv4 address as it is, of an IPv6 address the first 64 bits, because a
 * client usually has a whole /64.
 */
export function networkOf(address: string): string {
  const ipv4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (ipv4 !== undefined || !address.includes(':')) return ipv4 ?? address

  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::', 2)
  const before = groupsOf(head)
  const after = groupsOf(tail ?? '')
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':').map((group) => group.replace(/^0+(?=.)/, ''))
}
