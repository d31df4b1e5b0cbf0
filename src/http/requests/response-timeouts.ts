/**
 * The timeouts of responses: a response must begin in time, and its client must read it.
 *
 * A handler that never answers would occupy its connection for good, because a connection with a pending response is not evicted. A
 * client could leave a response unread for as long as it likes: over HTTP/2 with a closed window, over HTTP/1.1 byte by byte.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isComplete } from '../connections/connections.ts'
import type { Limits } from '../connections/limits.ts'
import { cutOff, refuse } from './exchange.ts'

const TOO_LATE = { status: 500, code: 'server_error', description: 'the request was not answered in time' }

/** A response that has not ended. */
export interface TrackedResponse {
  readonly res: ServerResponse
  /** Unsent bytes at the last check. Node reports whole writes only, so a slow write counts as unsent until its end. */
  unsentBytes: number
  /** The first check with the request complete and no response, in milliseconds of `performance.now()`. */
  pendingSince: number | undefined
  /** Its position in the list. */
  index: number
}

export class ResponseTimeouts {
  /** Unordered. A `Set` would hash each response, which costs more than the rest of this class. */
  readonly #all: TrackedResponse[] = []
  readonly #responseTimeout: number
  readonly #checking: NodeJS.Timeout
  #draining = false

  constructor({ responseTimeout, writeTimeout }: Pick<Limits, 'responseTimeout' | 'writeTimeout'>) {
    this.#responseTimeout = responseTimeout
    this.#checking = setInterval(() => this.#check(), writeTimeout)
  }

  /** Tracks a response until `end`. */
  begin(req: IncomingMessage, res: ServerResponse): TrackedResponse {
    const response = { res, unsentBytes: 0, pendingSince: undefined, index: this.#all.length }
    this.#all.push(response)
    if (this.#draining && req.httpVersionMajor === 1) res.setHeader('connection', 'close')
    return response
  }

  /** A response has been read, or its client has left. Call it once. */
  end({ index }: TrackedResponse): void {
    const last = this.#all.pop() as TrackedResponse
    if (last.index === index) return
    // The last one fills the gap.
    this.#all[index] = last
    last.index = index
  }

  /** From now on HTTP/1.1 connections end with their next response. */
  drain(): void {
    this.#draining = true
    for (const { res } of this.#all) {
      if (res.req.httpVersionMajor === 1 && !res.headersSent) res.setHeader('connection', 'close')
    }
  }

  /** Stops checking. */
  stop(): void {
    clearInterval(this.#checking)
  }

  #check(): void {
    const now = performance.now()
    // A copy: aborting a response may end it, which changes the list.
    for (const response of [...this.#all]) {
      const { res, unsentBytes: before } = response
      if (!res.headersSent && isComplete(res.req)) {
        response.pendingSince ??= now
        // Not 503: clients retry that by policy, and the handler may have done its work.
        if (now - response.pendingSince >= this.#responseTimeout) refuse(res, TOO_LATE)
        continue
      }
      // A pipelined response of HTTP/1.1 has no socket before its turn.
      const unsentBytes = res.socket === null ? 0 : res.writableLength
      if (unsentBytes > 0 && unsentBytes === before) cutOff(res)
      else response.unsentBytes = unsentBytes
    }
  }
}
