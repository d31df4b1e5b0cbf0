/**
 * Soft eviction of pooled connections: after a failover the same address leads to another server, but a connection stays with
 * the server that it was opened to, which may go on answering reads as a standby. Evicted connections are closed when a pool
 * would hand them out. The pool's own `maxLifetimeSeconds` would leave reads with the old server for that time.
 */

/**
 * The shortest time between two evictions, in milliseconds. A database that takes no writes for longer refuses those of new
 * connections too, and opening all connections again each time would only add load.
 */
const EVICTION_INTERVAL = 5_000

export class SoftEviction {
  readonly #monotonic: () => number
  #current = new WeakSet<object>()
  #evictedAt = Number.NEGATIVE_INFINITY

  /** @param monotonic A clock that never goes back, in milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  add(client: object): void {
    this.#current.add(client)
  }

  isEvicted(client: object): boolean {
    return !this.#current.has(client)
  }

  /** Evicts all connections that exist, unless the last eviction was a moment ago. */
  evictAll(): void {
    const now = this.#monotonic()
    if (now - this.#evictedAt < EVICTION_INTERVAL) return
    this.#evictedAt = now
    this.#current = new WeakSet()
  }
}
