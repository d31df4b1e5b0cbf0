/** A throttle for log lines: each reason is logged at most once a minute. */

/** The least time between two lines of a reason, in milliseconds. */
const EVERY = 60_000

/** How many reasons are remembered. The one that was logged longest ago is evicted. */
const MAX_REASONS = 100

export class LogThrottle {
  readonly #loggedAt = new Map<string, number>()

  /** Whether to log a reason now. @param at Milliseconds of a clock that never jumps. */
  admits(reason: string, at: number): boolean {
    const before = this.#loggedAt.get(reason)
    if (before !== undefined && at - before < EVERY) return false
    this.#loggedAt.delete(reason)
    this.#loggedAt.set(reason, at)
    if (this.#loggedAt.size > MAX_REASONS) this.#loggedAt.delete([...this.#loggedAt.keys()][0] ?? '')
    return true
  }
}
