/**
 * The answers that are being given, which must begin in time and be taken by those who asked for them.
 *
 * A handler that fails to answer would hold its connection for good, because one that is waited for gives way to no other. And
 * nothing else limits how long a client may leave an answer lying: over HTTP/2 it can close its window and go on talking, over
 * HTTP/1.1 it can take a byte now and then.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isWhole } from '../connections/connections.ts'
import type { Limits } from '../connections/limits.ts'
import { cutOff, refuse } from './exchange.ts'

const TOO_LATE = { status: 500, code: 'server_error', description: 'the request was not answered in time' }

/** An answer that is being followed. */
export interface TrackedResponse {
  readonly res: ServerResponse
  /**
   * What was waiting to be sent when it was last looked at, in bytes. Node tells only of whole writes, so one that is taken slowly
   * counts as not taken until its end.
   */
  waiting: number
  /** When it was first looked at with its request whole and nothing sent, in milliseconds of `performance.now()`. */
  awaitedSince: number | undefined
  /** Where it is in the list. */
  place: number
}

export class ResponseTimeouts {
  /** In no order. A set would have to make a hash for each answer, which costs more than all else here. */
  readonly #all: TrackedResponse[] = []
  readonly #responseTimeout: number
  readonly #looking: NodeJS.Timeout
  #closing = false

  constructor({ responseTimeout, answerTimeout }: Pick<Limits, 'responseTimeout' | 'answerTimeout'>) {
    this.#responseTimeout = responseTimeout
    this.#looking = setInterval(() => this.#look(), answerTimeout)
  }

  /** Follows an answer until it is `ended`. */
  begin(req: IncomingMessage, res: ServerResponse): TrackedResponse {
    const answer = { res, waiting: 0, awaitedSince: undefined, place: this.#all.length }
    this.#all.push(answer)
    if (this.#closing && req.httpVersionMajor === 1) res.setHeader('connection', 'close')
    return answer
  }

  /** An answer has been taken, or will never be. Once only. */
  ended({ place }: TrackedResponse): void {
    const last = this.#all.pop() as TrackedResponse
    if (last.place === place) return
    // The last one takes its place.
    this.#all[place] = last
    last.place = place
  }

  /** From now on connections end with their answers. */
  close(): void {
    this.#closing = true
    for (const { res } of this.#all) {
      if (res.req.httpVersionMajor === 1 && !res.headersSent) res.setHeader('connection', 'close')
    }
  }

  /** Follows none any more. */
  stop(): void {
    clearInterval(this.#looking)
  }

  #look(): void {
    const now = performance.now()
    // Cutting one off may end it, which changes the list.
    for (const answer of [...this.#all]) {
      const { res, waiting: before } = answer
      if (!res.headersSent && isWhole(res.req)) {
        answer.awaitedSince ??= now
        // Not 503: clients repeat that by policy, and what the handler was to do may have been done.
        if (now - answer.awaitedSince >= this.#responseTimeout) refuse(res, TOO_LATE)
        continue
      }
      // An answer of HTTP/1.1 that waits for others on its connection has none yet.
      const waiting = res.socket === null ? 0 : res.writableLength
      if (waiting > 0 && waiting === before) cutOff(res)
      else answer.waiting = waiting
    }
  }
}
