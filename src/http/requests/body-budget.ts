/**
 * Bounds the memory that requests take until their answers are taken, over all connections and protocols.
 *
 * A body is small, but there may be as many as there are connections and streams. What has come of each is counted from its first
 * byte until its request is answered, whether a handler has read it or not; and a stream of HTTP/2 while it is unfinished, and
 * from the beginning of its answer until that is taken. When all of it together is more than the budget, requests that have not
 * come to their end, and answers that their clients do not take, are cut off: those that hold most for longest first.
 */
import { IncomingMessage, type ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Log } from '../../domain/ports.ts'
import { type Connections, isWhole } from '../connections/connections.ts'
import { Queue, Queued } from '../connections/queue.ts'
import type { Refusal } from './exchange.ts'
import { refuseAndClose } from './parse-errors.ts'

/** What each chunk takes besides its bytes: a buffer, its memory, and its place in lists. Measured, in bytes. */
const CHUNK_OVERHEAD = 512

/** What a stream takes besides its body, in bytes. Measured. Connections of HTTP/1.1 are few enough not to be counted. */
const STREAM_OVERHEAD = 24 * 1024

/** Cutting off makes so much room at once, as a part of the budget, so that not every chunk has to look for more. */
const ROOM = 1 / 8

/** How often the log says that requests were cut off, in milliseconds. */
const REPORT_EVERY = 60_000

const HELD = Symbol('held')
const BUDGET = Symbol('budget')
const ANSWER = Symbol('answer')

/** A request of HTTP/1.1 or a stream of HTTP/2, with what it holds. */
type Holder = (IncomingMessage | ServerHttp2Stream) & { [HELD]?: Held; [ANSWER]?: ServerResponse }

/** What a request holds. */
class Held extends Queued {
  readonly holder: Holder
  readonly since = performance.now()
  /** With what the chunks take besides. */
  bytes = 0
  received = 0
  readonly chunks: Buffer[] = []
  /** Cut off. What still comes is dropped. */
  isCut = false
  /** Answered, or cut off. What still comes is dropped by others. */
  isOver = false

  constructor(holder: Holder) {
    super()
    this.holder = holder
  }
}

/** A request that is being answered. */
type Begun = IncomingMessage & {
  [BUDGET]?: BodyBudget
  [ANSWER]?: ServerResponse
  readonly stream?: ServerHttp2Stream
}

/** What a budget needs. */
export interface BodyBudgetOptions {
  /** The budget, in bytes. */
  readonly maxBytes: number
  /** What handlers keep of one body at most, in bytes. As much again may wait to be read; what comes after that is dropped. */
  readonly maxBodyBytes: number
  readonly connections: Connections
  readonly log: Log
}

export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #all = new Queue<Held>()
  #bytes = 0
  #cut = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /** From now on memory can be reserved for a request. */
  begin(req: Begun, res: ServerResponse): void {
    req[BUDGET] = this
    req[ANSWER] = res
  }

  /** Counts memory of a request whose body is here. @returns Whether there is room for it; if not, it is not counted. */
  reserve(holder: Holder, bytes: number): boolean {
    const held = heldBy(holder)
    this.#count(held, bytes)
    if (!this.#hasRoom) this.#makeRoom(held)
    this.#report()
    if (this.#hasRoom) return !held.isCut
    this.#count(held, -bytes)
    return false
  }

  /** The requests of an HTTP/1.1 server, which count what comes. Each must be released when it has been answered. */
  countedMessages(): typeof IncomingMessage {
    const budget = this
    return class CountedMessage extends IncomingMessage {
      override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
        return chunk === null || budget.#hold(this, chunk) ? super.push(chunk, encoding) : true
      }
    }
  }

  /** Counts what comes on a stream until it closes. @param stream Must have no reader yet, and no answer. */
  count(stream: ServerHttp2Stream): void {
    const { push, respond } = stream
    let isUnfinished = !isWhole(stream)
    stream.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
      if (chunk !== null) {
        const own = withoutOthers(chunk)
        return this.#hold(stream, own) ? push.call(stream, own, encoding) : true
      }
      if (isUnfinished) this.#count(heldBy(stream), -STREAM_OVERHEAD)
      isUnfinished = false
      return push.call(stream, null)
    }
    // Once at most.
    stream.respond = (headers, options): void => {
      respond.call(stream, headers, options)
      const held = heldBy(stream)
      this.#count(held, STREAM_OVERHEAD)
      if (!this.#hasRoom) this.#makeRoom(held)
      this.#report()
    }
    stream.once('close', () => this.release(stream))
    if (isUnfinished) this.#charge(heldBy(stream), STREAM_OVERHEAD)
    // What came in one packet with the preface was here before the stream could be counted.
    const early: Buffer | null = stream.readableLength > 0 ? stream.read() : null
    if (early !== null) {
      const own = withoutOthers(early)
      if (this.#hold(stream, own)) stream.unshift(own)
    }
  }

  /** A request has been answered, or will never be. */
  release(holder: Holder): void {
    const held = holder[HELD]
    if (held === undefined || held.isOver) return
    held.isOver = true
    held.chunks.length = 0
    held.leave()
    this.#bytes -= held.bytes
  }

  /** @returns Whether the chunk may be kept. Otherwise its request has been cut off. */
  #hold(holder: Holder, chunk: Buffer): boolean {
    const held = heldBy(holder)
    held.received += chunk.length
    if (held.isOver || held.received > 2 * this.#options.maxBodyBytes) return !held.isCut
    held.chunks.push(chunk)
    this.#charge(held, chunk.length + CHUNK_OVERHEAD)
    return !held.isCut
  }

  #charge(held: Held, bytes: number): void {
    this.#count(held, bytes)
    if (this.#hasRoom) return
    this.#makeRoom()
    // All others are being answered.
    if (!this.#hasRoom) this.#cutOff(held)
    this.#report()
  }

  get #hasRoom(): boolean {
    return this.#bytes <= this.#options.maxBytes
  }

  #count(held: Held, bytes: number): void {
    if (held.isOver) return
    if (held.queue === null) this.#all.add(held)
    held.bytes += bytes
    this.#bytes += bytes
  }

  /** @param spared Is doing something that must not be interrupted here. */
  #makeRoom(spared?: Held): void {
    const now = performance.now()
    const cost = (held: Held) => held.bytes * (now - held.since + 1)
    const idle = [...this.#all].filter((held) => held !== spared && waitsForClient(held.holder))
    const target = this.#options.maxBytes * (1 - ROOM)
    for (const held of idle.sort((a, b) => cost(b) - cost(a))) {
      if (this.#bytes <= target) break
      this.#cutOff(held)
    }
  }

  #report(): void {
    const { maxBytes, log } = this.#options
    const now = performance.now()
    if (this.#cut === 0 || now - this.#reportedAt < REPORT_EVERY) return
    this.#reportedAt = now
    log.warn(
      { requests: this.#cut, maxBytes },
      'requests whose clients keep them waiting were cut off: they had used up their memory',
    )
    this.#cut = 0
  }

  #cutOff(held: Held): void {
    if (held.isOver) return
    held.isCut = true
    this.#cut += 1
    const { holder } = held
    // Now, not when the collector comes: it does not see how much memory is behind the few objects that bodies are.
    for (const chunk of held.chunks) if (chunk.length === chunk.buffer.byteLength) free(chunk)
    this.release(holder)
    if (!('session' in holder)) {
      if (holder[ANSWER]?.headersSent) holder.socket.destroy()
      else refuseAndClose(holder.socket, this.#options.connections, OVERLOADED)
      return
    }
    // If nothing has been done for it, it may be repeated (RFC 9113 §8.7).
    holder.close(holder.headersSent ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_REFUSED_STREAM)
    // It ends when it has been read to its end, also if its handler never begins to.
    holder.resume()
  }
}

/**
 * Counts memory that a request takes besides its body, in bytes, until it is answered. Its body must be here.
 *
 * @returns Whether there is room for it, perhaps because other requests were cut off. If not, refuse the request.
 */
export function reserve(req: Begun, bytes: number): boolean {
  return req[BUDGET]?.reserve(req.stream ?? req, bytes) ?? true
}

/** Whether its client has not sent it to its end, or does not take the answer. */
function waitsForClient(holder: Holder): boolean {
  if (!isWhole(holder)) return true
  const answer = 'session' in holder ? holder : holder[ANSWER]
  return answer?.headersSent === true && (answer.writableEnded || answer.writableLength > 0)
}

function heldBy(holder: Holder): Held {
  holder[HELD] ??= new Held(holder)
  return holder[HELD]
}

const OVERLOADED: Refusal = {
  status: 503,
  code: 'temporarily_unavailable',
  description: 'too many requests are coming in slowly: try again later',
  headers: { 'retry-after': '1' },
}

/** Chunks of HTTP/2 are parts of what was read at once: a byte would keep up to 64 KiB, most of it of other streams. */
function withoutOthers(chunk: Buffer): Buffer {
  // Not from the pool, of which a byte keeps 8 KiB.
  const own = Buffer.allocUnsafeSlow(chunk.length)
  chunk.copy(own)
  return own
}

/** Frees the memory of a chunk. Code that still has it sees an empty buffer. */
function free({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
