/**
 * Which connections lead to the server that is to be used. After a fail-over the same address leads to another one, but a
 * connection stays with the server that it was opened to, which may go on answering reads as a standby.
 */

/**
 * How long new connections are believed to lead to another server, in milliseconds. A database that takes no writes for
 * longer refuses each of them, and opening all connections again each time would only add to that.
 */
const LEAVE_EVERY = 5_000

export class SoftEviction {
  readonly #monotonic: () => number
  readonly #generations = new WeakMap<object, number>()
  #current = 0
  #leftAt = Number.NEGATIVE_INFINITY

  /** @param monotonic A clock that never goes back, in milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  add(client: object): void {
    this.#generations.set(client, this.#current)
  }

  isCurrent(client: object): boolean {
    return this.#generations.get(client) === this.#current
  }

  /** All connections there are lead to the wrong server, unless that was said a moment ago. */
  leave(): void {
    const now = this.#monotonic()
    if (now - this.#leftAt < LEAVE_EVERY) return
    this.#leftAt = now
    this.#current += 1
  }
}
