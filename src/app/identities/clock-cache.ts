/**
 * A map with a greatest size that forgets what has not been used for long.
 *
 * It does not keep its entries in the order of their use: to move one at each use was 5 % of a token request with 10,000
 * users. An entry is only marked when it is used, and passed over once, losing its mark, when it is its turn to be forgotten.
 */

/** How many marked entries are passed over at most, so that no call takes long. */
const MAX_PASSED_OVER = 16

interface Entry<V> {
  value: V
  used: boolean
}

export class ClockCache<K, V> {
  /** The next one to be forgotten comes first. */
  readonly #entries = new Map<K, Entry<V>>()
  readonly #capacity: number

  /** @param capacity The greatest number of entries, at least 1. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.used = true
    return entry.value
  }

  set(key: K, value: V): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      entry.value = value
      entry.used = true
      return
    }
    if (this.#entries.size >= this.#capacity) this.#forgetOne()
    this.#entries.set(key, { value, used: false })
  }

  /** Gives an entry another value, if there is one. That is no use of it. */
  replace(key: K, value: V): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) entry.value = value
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  get size(): number {
    return this.#entries.size
  }

  *entries(): Generator<[K, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value]
  }

  #forgetOne(): void {
    let passedOver = 0
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key)
      if (!entry.used || passedOver === MAX_PASSED_OVER) return
      passedOver += 1
      entry.used = false
      this.#entries.set(key, entry)
    }
  }
}
