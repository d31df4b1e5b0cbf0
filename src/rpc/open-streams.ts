/**
 * Limits how many streams of one kind are open at the same time: per connection, per address and in all. Unlike other calls
 * they stay, and no token is needed to open one.
 *
 * Streams are shared out fairly: when there are as many as there may be, an address that holds fewer than the one with most takes
 * a place from it, and likewise a connection among those of its address.
 */
import { Code, ConnectError } from '@connectrpc/connect'

/** Where a call comes from. */
export interface CallOrigin {
  /** The IP address of the client. */
  readonly address: string
  /** Of a proxy, if the call came through one: then clients of several addresses share it. */
  readonly connection: object
}

/** The most streams at the same time. */
export interface StreamLimits {
  readonly total: number
  readonly perAddress: number
  /** For each address that uses the connection. */
  readonly perConnection: number
}

interface Stream extends CallOrigin {
  readonly ending: AbortController
}

export class OpenStreams {
  readonly #limits: StreamLimits
  /** In the order in which they were opened. */
  readonly #open = new Set<Stream>()

  constructor(limits: StreamLimits) {
    this.#limits = limits
  }

  /**
   * Counts a stream until its signal is aborted, which Connect does at the end of every call, however it ends.
   *
   * @returns A signal that is also aborted when the stream has to end for another one, with `unavailable`.
   * @throws {ConnectError} `resource_exhausted` if there are too many.
   */
  enter(signal: AbortSignal, { address, connection }: CallOrigin): AbortSignal {
    if (signal.aborted) return signal
    const { total, perAddress, perConnection } = this.#limits
    const ofAddress = [...this.#open].filter((stream) => stream.address === address)
    const ofConnection = ofAddress.filter((stream) => stream.connection === connection).length
    if (ofConnection >= perConnection) throw tooMany(perConnection, 'of this connection')
    if (ofAddress.length >= perAddress) {
      if (!this.#makeRoom(ofAddress, (stream) => stream.connection, ofConnection)) {
        throw tooMany(perAddress, 'of this address')
      }
    } else if (this.#open.size >= total) {
      if (!this.#makeRoom([...this.#open], (stream) => stream.address, ofAddress.length)) throw tooMany(total, 'in all')
    }
    return this.#add({ address, connection, ending: new AbortController() }, signal)
  }

  #add(stream: Stream, signal: AbortSignal): AbortSignal {
    this.#open.add(stream)
    signal.addEventListener(
      'abort',
      () => {
        this.#open.delete(stream)
        stream.ending.abort(signal.reason)
      },
      { once: true },
    )
    return stream.ending.signal
  }

  /** Ends the oldest stream of the holder that has most, if that is more than the one who wants the place has. */
  #makeRoom(streams: readonly Stream[], holderOf: (stream: Stream) => unknown, held: number): boolean {
    const counts = new Map<unknown, number>()
    for (const stream of streams) counts.set(holderOf(stream), (counts.get(holderOf(stream)) ?? 0) + 1)
    const most = Math.max(...counts.values())
    const oldest = streams.find((stream) => counts.get(holderOf(stream)) === most)
    if (oldest === undefined || most <= held) return false
    this.#open.delete(oldest)
    oldest.ending.abort(new ConnectError('ended for the stream of another client: open it again', Code.Unavailable))
    return true
  }
}

function tooMany(max: number, where: string): ConnectError {
  return new ConnectError(`there are ${max} such streams ${where} already: try again later`, Code.ResourceExhausted)
}
