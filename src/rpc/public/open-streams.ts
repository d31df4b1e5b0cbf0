/**
 * Limits how many streams of one kind are open at the same time: per connection, per address and in all. Unlike other calls
 * they stay, and no token is needed to open one. Addresses that one client can choose among count as one (`networkOf`).
 *
 * Streams are shared out fairly: when there are as many as there may be, an address that holds fewer than the one with most takes
 * a place from it, and likewise a connection among those of its address. The stream that loses its place stays counted beside the
 * others until it has ended, and is cut off if its client does not take the end of it.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import { networkOf } from '../../app/access/network.ts'
import { unavailable } from '../messages/errors.ts'

/** Where a call comes from. */
export interface StreamOrigin {
  /** The IP address of the client. */
  readonly address: string
  /** Of a proxy, if the call came through one: then clients of several addresses share it. */
  readonly connection: object
  /** Ends the call at once, whatever its client has not taken yet. */
  cutOff(): void
}

/** How long a client may take to receive that its stream has ended for another one, in milliseconds. */
const END_TIMEOUT = 1_000

/** The most streams at the same time. */
export interface StreamLimits {
  readonly total: number
  readonly perAddress: number
  /** For each address that uses the connection. As many may be ending for others at the same time. */
  readonly perConnection: number
}

interface Stream extends StreamOrigin {
  readonly ending: AbortController
}

export class OpenStreams {
  readonly #limits: StreamLimits
  readonly #endTimeout: number
  /** Those that have a place, in the order in which they were opened. */
  readonly #open = new Set<Stream>()
  /** Those that have lost their place and have not ended yet. */
  readonly #ending = new Set<Stream>()

  constructor(limits: StreamLimits, endTimeout = END_TIMEOUT) {
    this.#limits = limits
    this.#endTimeout = endTimeout
  }

  /**
   * Counts a stream until its signal is aborted, which Connect does at the end of every call, however it ends.
   *
   * @returns A signal that is also aborted when the stream has to end for another one, with `unavailable`.
   * @throws {ConnectError} `resource_exhausted` if there are too many.
   */
  enter(signal: AbortSignal, origin: StreamOrigin): AbortSignal {
    if (signal.aborted) return signal
    const { connection } = origin
    const address = networkOf(origin.address)
    const { total, perAddress, perConnection } = this.#limits
    const ofAddress = [...this.#open].filter((stream) => stream.address === address)
    const isOfConnection = (stream: Stream) => stream.address === address && stream.connection === connection
    const ofConnection = ofAddress.filter(isOfConnection).length
    const endingOfConnection = [...this.#ending].filter(isOfConnection).length
    if (ofConnection + endingOfConnection >= perConnection) throw tooMany(perConnection, 'of this connection')
    if (ofAddress.length >= perAddress) {
      if (!this.#makeRoom(ofAddress, (stream) => stream.connection, ofConnection)) {
        throw tooMany(perAddress, 'of this address')
      }
    } else if (this.#open.size >= total) {
      if (!this.#makeRoom([...this.#open], (stream) => stream.address, ofAddress.length)) throw tooMany(total, 'in all')
    }
    return this.#add({ ...origin, address, ending: new AbortController() }, signal)
  }

  #add(stream: Stream, signal: AbortSignal): AbortSignal {
    this.#open.add(stream)
    signal.addEventListener(
      'abort',
      () => {
        this.#open.delete(stream)
        this.#ending.delete(stream)
        stream.ending.abort(signal.reason)
      },
      { once: true },
    )
    return stream.ending.signal
  }

  /** Ends the oldest stream of the holder that has most, if that is more than the one who wants the place has. */
  #makeRoom(streams: readonly Stream[], holderOf: (stream: Stream) => unknown, held: number): boolean {
    if (this.#ending.size >= this.#limits.perConnection) return false
    const counts = new Map<unknown, number>()
    for (const stream of streams) counts.set(holderOf(stream), (counts.get(holderOf(stream)) ?? 0) + 1)
    const most = Math.max(...counts.values())
    const oldest = streams.find((stream) => counts.get(holderOf(stream)) === most)
    if (oldest === undefined || most <= held) return false
    this.#open.delete(oldest)
    this.#ending.add(oldest)
    setTimeout(() => {
      if (this.#ending.has(oldest)) oldest.cutOff()
    }, this.#endTimeout).unref()
    oldest.ending.abort(unavailable('ended for the stream of another client: open it again'))
    return true
  }
}

function tooMany(max: number, where: string): ConnectError {
  return new ConnectError(`there are ${max} such streams ${where} already: try again later`, Code.ResourceExhausted)
}
