/**
 * Load shedding by memory: bounds what request bodies and unread responses take, over all connections and protocols.
 *
 * A body is small, but there may be one for each connection and stream. Each chunk counts from its arrival until the response ends,
 * read or not. A stream of HTTP/2 counts as well, while its request is incomplete, and from the beginning of its response until
 * that is read. Over the budget, incomplete requests and responses that their clients do not read are shed: the largest product of
 * bytes and time first.
 */
import { IncomingMessage, type ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { type Connections, isComplete } from '../connections/connections.ts'
import { LinkedList, ListItem } from '../connections/linked-list.ts'
import type { Refusal } from './exchange.ts'
import { refuseAndClose } from './parse-errors.ts'

/** What a chunk takes besides its bytes: a buffer, its backing store, and list entries. Measured, in bytes. */
const CHUNK_OVERHEAD = 512

/** What a stream takes besides its body, in bytes. Measured. Connections of HTTP/1.1 are few enough not to count. */
const STREAM_OVERHEAD = 24 * 1024

/** Shedding frees this part of the budget at once, so that the next chunks need not search again. */
const HEADROOM = 1 / 8

const USAGE = Symbol('usage')
const BUDGET = Symbol('budget')
const RESPONSE = Symbol('response')

/** A request of HTTP/1.1 or a stream of HTTP/2. */
type Holder = (IncomingMessage | ServerHttp2Stream) & { [USAGE]?: Usage; [RESPONSE]?: ServerResponse }

/** The memory of one holder. */
class Usage extends ListItem {
  readonly holder: Holder
  readonly since = performance.now()
  /** With overheads. */
  bytes = 0
  received = 0
  readonly chunks: Buffer[] = []
  /** Later chunks are dropped. */
  isShed = false
  /** Answered or shed: counted no more. */
  isReleased = false

  constructor(holder: Holder) {
    super()
    this.holder = holder
  }
}

/** A request that has begun. */
type Begun = IncomingMessage & {
  [BUDGET]?: BodyBudget
  [RESPONSE]?: ServerResponse
  readonly stream?: ServerHttp2Stream
}

/** What a budget needs. */
export interface BodyBudgetOptions {
  /** The budget, in bytes. */
  readonly maxBytes: number
  /** What handlers keep of one body at most, in bytes. As much again may wait to be read; handlers drop what comes after that. */
  readonly maxBodyBytes: number
  readonly connections: Connections
  readonly log: Log
}

export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #all = new LinkedList<Usage>()
  readonly #throttle = new LogThrottle()
  #bytes = 0
  /** Since the last line in the log. */
  #shedCount = 0

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /** Makes `reserve` possible for a request. */
  begin(req: Begun, res: ServerResponse): void {
    req[BUDGET] = this
    req[RESPONSE] = res
  }

  /** Counts more memory of a complete request. @returns Whether it fits. If not, it is not counted. */
  reserve(holder: Holder, bytes: number): boolean {
    const usage = usageOf(holder)
    this.#count(usage, bytes)
    this.#shedAllBut(usage)
    if (this.#fits) return !usage.isShed
    this.#count(usage, -bytes)
    return false
  }

  /** The class of an HTTP/1.1 server's requests, which counts their chunks. Each must be released when it is answered. */
  trackedMessages(): typeof IncomingMessage {
    const budget = this
    return class TrackedMessage extends IncomingMessage {
      override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
        return chunk === null || budget.#receive(this, chunk) ? super.push(chunk, encoding) : true
      }
    }
  }

  /** Counts the memory of a stream until it closes. @param stream Must have no reader and no response yet. */
  track(stream: ServerHttp2Stream): void {
    const { push, respond } = stream
    let isIncomplete = !isComplete(stream)
    // A body without a reader keeps its stream open after the response. Node discards one only if nothing was read of it, as is below.
    const discard = (): void => {
      if (!isIncomplete && stream.writableFinished && stream.readableFlowing === null) stream.resume()
    }
    stream.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
      if (chunk !== null) {
        const copy = copyOf(chunk)
        return this.#receive(stream, copy) ? push.call(stream, copy, encoding) : true
      }
      if (isIncomplete) this.#count(usageOf(stream), -STREAM_OVERHEAD)
      isIncomplete = false
      const result = push.call(stream, null)
      discard()
      return result
    }
    // Called once at most.
    stream.respond = (headers, options): void => {
      respond.call(stream, headers, options)
      const usage = usageOf(stream)
      this.#count(usage, STREAM_OVERHEAD)
      this.#shedAllBut(usage)
    }
    stream.once('close', () => this.release(stream))
    stream.once('finish', discard)
    if (isIncomplete) this.#charge(usageOf(stream), STREAM_OVERHEAD)
    // A chunk in one packet with the preface arrived before this call.
    const early: Buffer | null = stream.readableLength > 0 ? stream.read() : null
    if (early !== null) {
      const copy = copyOf(early)
      if (this.#receive(stream, copy)) stream.unshift(copy)
    }
  }

  /** A request has been answered, or its client has left. */
  release(holder: Holder): void {
    const usage = holder[USAGE]
    if (usage === undefined || usage.isReleased) return
    usage.isReleased = true
    usage.chunks.length = 0
    usage.unlink()
    this.#bytes -= usage.bytes
  }

  /** @returns Whether the chunk may be kept. */
  #receive(holder: Holder, chunk: Buffer): boolean {
    const usage = usageOf(holder)
    usage.received += chunk.length
    if (usage.isReleased || usage.received > 2 * this.#options.maxBodyBytes) return !usage.isShed
    usage.chunks.push(chunk)
    this.#charge(usage, chunk.length + CHUNK_OVERHEAD)
    return !usage.isShed
  }

  #charge(usage: Usage, bytes: number): void {
    this.#count(usage, bytes)
    if (this.#fits) return
    this.#shed()
    // All others are complete.
    if (!this.#fits) this.#abort(usage)
    this.#report()
  }

  get #fits(): boolean {
    return this.#bytes <= this.#options.maxBytes
  }

  #count(usage: Usage, bytes: number): void {
    if (usage.isReleased) return
    if (usage.list === null) this.#all.append(usage)
    usage.bytes += bytes
    this.#bytes += bytes
  }

  /** @param spared Is in the middle of a step that must not be interrupted. */
  #shedAllBut(spared: Usage): void {
    if (this.#fits) return
    this.#shed(spared)
    this.#report()
  }

  #shed(spared?: Usage): void {
    const now = performance.now()
    const cost = (usage: Usage) => usage.bytes * (now - usage.since + 1)
    const waiting = [...this.#all].filter((usage) => usage !== spared && waitsForClient(usage.holder))
    const target = this.#options.maxBytes * (1 - HEADROOM)
    for (const usage of waiting.sort((a, b) => cost(b) - cost(a))) {
      if (this.#bytes <= target) break
      this.#abort(usage)
    }
  }

  #report(): void {
    const { maxBytes, log } = this.#options
    if (this.#shedCount === 0 || !this.#throttle.admits('shed', performance.now())) return
    log.warn(
      { requests: this.#shedCount, maxBytes },
      'slow requests were cut off, because the memory for request bodies was used up',
    )
    this.#shedCount = 0
  }

  #abort(usage: Usage): void {
    if (usage.isReleased) return
    usage.isShed = true
    this.#shedCount += 1
    const { holder } = usage
    // The garbage collector would free them late: it does not see the memory behind the few objects.
    for (const chunk of usage.chunks) if (chunk.length === chunk.buffer.byteLength) free(chunk)
    this.release(holder)
    if (!('session' in holder)) {
      if (holder[RESPONSE]?.headersSent) holder.socket.destroy()
      else refuseAndClose(holder.socket, this.#options.connections, OVERLOADED)
      return
    }
    // A request that was not processed may be retried (RFC 9113 §8.7).
    holder.close(holder.headersSent ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_REFUSED_STREAM)
    // A stream closes only when it has been read to its end, and its handler may never begin to.
    holder.resume()
  }
}

/**
 * Counts memory that a complete request takes besides its body, in bytes, until it is answered.
 *
 * @returns Whether it fits, perhaps because other requests were shed. If not, refuse the request.
 */
export function reserve(req: Begun, bytes: number): boolean {
  return req[BUDGET]?.reserve(req.stream ?? req, bytes) ?? true
}

/** Whether the client has not sent all of the request, or does not read the response. */
function waitsForClient(holder: Holder): boolean {
  if (!isComplete(holder)) return true
  const response = 'session' in holder ? holder : holder[RESPONSE]
  return response?.headersSent === true && (response.writableEnded || response.writableLength > 0)
}

function usageOf(holder: Holder): Usage {
  holder[USAGE] ??= new Usage(holder)
  return holder[USAGE]
}

const OVERLOADED: Refusal = {
  status: 503,
  code: 'temporarily_unavailable',
  description: 'too many requests are coming in slowly: try again later',
  headers: { 'retry-after': '1' },
}

/** HTTP/2 chunks are views of one read: a byte would keep up to 64 KiB, most of it of other streams. */
function copyOf(chunk: Buffer): Buffer {
  // Not from the pool, of which a byte keeps 8 KiB.
  const copy = Buffer.allocUnsafeSlow(chunk.length)
  chunk.copy(copy)
  return copy
}

/** Frees the memory of a chunk. Code that still has it sees an empty buffer. */
function free({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
