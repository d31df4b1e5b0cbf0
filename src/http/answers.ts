/**
 * The answers that are being given, which must be taken by those who asked for them.
 *
 * Nothing else limits how long a client may leave an answer lying: over HTTP/2 it can close its window and go on talking,
 * over HTTP/1.1 it can take a byte now and then.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerResponse } from 'node:http2'

export class Answers {
  /** What of each was waiting to be sent when it was last looked at, in bytes. */
  readonly #waiting = new Map<ServerResponse, number>()
  readonly #looking: NodeJS.Timeout
  #closing = false

  /** @param timeout How long a client may take nothing, at least; at most twice that. In milliseconds. */
  constructor(timeout: number) {
    this.#looking = setInterval(() => this.#look(), timeout)
  }

  /** Follows an answer until it is `ended`. */
  begin(req: IncomingMessage, res: ServerResponse): void {
    this.#waiting.set(res, 0)
    if (this.#closing && req.httpVersionMajor === 1) res.setHeader('connection', 'close')
  }

  /** An answer has been taken, or will never be. */
  ended(res: ServerResponse): void {
    this.#waiting.delete(res)
  }

  /** From now on connections end with their answers. */
  close(): void {
    this.#closing = true
    for (const res of this.#waiting.keys()) {
      if (res.req.httpVersionMajor === 1 && !res.headersSent) res.setHeader('connection', 'close')
    }
  }

  /** Follows none any more. */
  stop(): void {
    clearInterval(this.#looking)
  }

  #look(): void {
    for (const [res, before] of this.#waiting) {
      // An answer of HTTP/1.1 that waits for others on its connection has none yet.
      const waiting = res.socket === null ? 0 : res.writableLength
      if (waiting > 0 && waiting === before) cutOff(res)
      else this.#waiting.set(res, waiting)
    }
  }
}

function cutOff(res: ServerResponse | Http2ServerResponse): void {
  // Destroying it would tell the client that all is well.
  if ('stream' in res) res.stream.close(constants.NGHTTP2_CANCEL)
  else res.destroy()
}
