/**
 * Limits the concurrent streams of one kind: per connection, per address and in total. Streams are long-lived and need no token.
 * Addresses of one network count as one (`networkOf`).
 *
 * Eviction is fair: at the limit, a new stream evicts the oldest stream of the address that has most streams, if its own address has
 * fewer. At the limit of an address the same holds among its connections. An evicted stream is counted separately until it has
 * ended, and is cut off if its client does not receive the end in time.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import { networkOf } from '../../app/access/network.ts'
import { unavailable } from '../messages/errors.ts'

/** Where a call comes from. */
export interface StreamOrigin {
  /** The IP address of the client. */
  readonly address: string
  /** The connection of a proxy is shared by clients of several addresses. */
  readonly connection: object
  /** Ends the call at once, and discards what the client has not received yet. */
  cutOff(): void
}

/** How long a client may take to receive the end of an evicted stream, in milliseconds. */
const EVICTION_TIMEOUT = 1_000

/** The most concurrent streams. */
export interface StreamLimits {
  readonly total: number
  readonly perAddress: number
  /** For each address that uses the connection. Also the most evicted streams that have not ended yet. */
  readonly perConnection: number
}

interface Stream extends StreamOrigin {
  readonly eviction: AbortController
}

export class StreamLimiter {
  readonly #limits: StreamLimits
  readonly #evictionTimeout: number
  /** In the order in which they were opened. */
  readonly #open = new Set<Stream>()
  /** Evicted streams that have not ended yet. */
  readonly #evicted = new Set<Stream>()

  constructor(limits: StreamLimits, evictionTimeout = EVICTION_TIMEOUT) {
    this.#limits = limits
    this.#evictionTimeout = evictionTimeout
  }

  /**
   * Admits a stream and counts it until its signal is aborted, which Connect does at the end of every call.
   *
   * @returns A signal that is also aborted when the stream is evicted, with `unavailable`.
   * @throws {ConnectError} `resource_exhausted` if there are too many.
   */
  admit(signal: AbortSignal, origin: StreamOrigin): AbortSignal {
    if (signal.aborted) return signal
    const { connection } = origin
    const address = networkOf(origin.address)
    const { total, perAddress, perConnection } = this.#limits
    const ofAddress = [...this.#open].filter((stream) => stream.address === address)
    const isOfConnection = (stream: Stream) => stream.address === address && stream.connection === connection
    const ofConnection = ofAddress.filter(isOfConnection).length
    const evictedOfConnection = [...this.#evicted].filter(isOfConnection).length
    if (ofConnection + evictedOfConnection >= perConnection) throw tooMany(perConnection, 'of this connection')
    if (ofAddress.length >= perAddress) {
      if (!this.#evict(ofAddress, (stream) => stream.connection, ofConnection)) {
        throw tooMany(perAddress, 'of this address')
      }
    } else if (this.#open.size >= total) {
      if (!this.#evict([...this.#open], (stream) => stream.address, ofAddress.length)) throw tooMany(total, 'in all')
    }
    return this.#add({ ...origin, address, eviction: new AbortController() }, signal)
  }

  #add(stream: Stream, signal: AbortSignal): AbortSignal {
    this.#open.add(stream)
    signal.addEventListener(
      'abort',
      () => {
        this.#open.delete(stream)
        this.#evicted.delete(stream)
        stream.eviction.abort(signal.reason)
      },
      { once: true },
    )
    return stream.eviction.signal
  }

  /** Evicts the oldest stream of the holder with most. @returns False if that holder has at most `held`, or too many evictions are pending. */
  #evict(streams: readonly Stream[], holderOf: (stream: Stream) => unknown, held: number): boolean {
    if (this.#evicted.size >= this.#limits.perConnection) return false
    const counts = new Map<unknown, number>()
    for (const stream of streams) counts.set(holderOf(stream), (counts.get(holderOf(stream)) ?? 0) + 1)
    const most = Math.max(...counts.values())
    const oldest = streams.find((stream) => counts.get(holderOf(stream)) === most)
    if (oldest === undefined || most <= held) return false
    this.#open.delete(oldest)
    this.#evicted.add(oldest)
    setTimeout(() => {
      if (this.#evicted.has(oldest)) oldest.cutOff()
    }, this.#evictionTimeout).unref()
    oldest.eviction.abort(unavailable('ended for the stream of another client: open it again'))
    return true
  }
}

function tooMany(max: number, where: string): ConnectError {
  return new ConnectError(`there are ${max} such streams ${where} already: try again later`, Code.ResourceExhausted)
}
