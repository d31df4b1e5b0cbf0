/**
 * Which lines of a log are left out, because the same reason has been logged shortly before.
 */

/** How often a reason that goes on is logged, in milliseconds. */
const EVERY = 60_000

/** How many reasons are remembered. The one that was logged longest ago is forgotten. */
const MAX_REASONS = 100

export class LogThrottle {
  readonly #loggedAt = new Map<string, number>()

  /** Whether to log a reason now: once a minute. @param at Milliseconds of a clock that never jumps. */
  admits(reason: string, at: number): boolean {
    const before = this.#loggedAt.get(reason)
    if (before !== undefined && at - before < EVERY) return false
    this.#loggedAt.delete(reason)
    this.#loggedAt.set(reason, at)
    if (this.#loggedAt.size > MAX_REASONS) this.#loggedAt.delete([...this.#loggedAt.keys()][0] ?? '')
    return true
  }
}
