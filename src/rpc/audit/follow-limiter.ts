/**
 * Limits the streams of audit events in a process: per caller and in total.
 */
import { Code, ConnectError } from '@connectrpc/connect'

const MAX_STREAMS = { perCaller: 10, total: 100 }

export class FollowLimiter {
  readonly #open = new Map<string, number>()
  #total = 0

  /**
   * Counts a stream of a user until the returned function is called.
   *
   * @throws {ConnectError} `resource_exhausted` if there are too many.
   */
  admit(userId: string): () => void {
    const { perCaller, total } = MAX_STREAMS
    const open = this.#open.get(userId) ?? 0
    if (open >= perCaller) throw tooMany(perCaller, 'of this caller')
    if (this.#total >= total) throw tooMany(total, 'in all')
    this.#open.set(userId, open + 1)
    this.#total += 1
    return () => {
      this.#total -= 1
      const left = (this.#open.get(userId) ?? 1) - 1
      if (left === 0) this.#open.delete(userId)
      else this.#open.set(userId, left)
    }
  }
}

function tooMany(max: number, where: string): ConnectError {
  return new ConnectError(`there are ${max} streams of audit events ${where} already`, Code.ResourceExhausted)
}
