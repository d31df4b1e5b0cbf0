/**
 * Limits the streams of audit events in a process: per caller and in total.
 */
import { DomainError } from '../../domain/errors.ts'

const MAX_STREAMS = { perCaller: 10, total: 100 }

export class FollowLimiter {
  readonly #open = new Map<string, number>()
  #total = 0

  /**
   * Counts a stream of a user until the returned function is called.
   *
   * @throws {DomainError} `audit_stream_limit_reached`.
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

function tooMany(max: number, where: string): DomainError {
  return new DomainError('audit_stream_limit_reached', `there are ${max} streams of audit events ${where} already`)
}
