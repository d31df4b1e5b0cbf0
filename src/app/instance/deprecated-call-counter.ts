/**
 * Counts calls of deprecated methods by their caller. Counts are collected and written in batches, so that no call waits for the write
 * or fails with it.
 */
import { LRUCache } from 'lru-cache'
import { type DeprecatedCalls, MAX_DEPRECATED_CALLS, type NamedDeprecatedCalls } from '../../domain/deprecated-calls.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { DeprecatedCallStore } from '../../domain/ports/records.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'

/** How long a count waits to be written, in milliseconds. */
const WRITE_AFTER = 5000

/** What the counter needs. */
export interface DeprecatedCallCounterOptions {
  readonly store: DeprecatedCallStore
  /** Whether there is a database to write to. */
  readonly canWrite: () => boolean
  readonly clock: Clock
  /** The time of the instance. */
  readonly now: () => Date
  readonly log: Log
}

export class DeprecatedCallCounter {
  readonly #options: DeprecatedCallCounterOptions
  readonly #throttle = new LogThrottle()
  readonly #unwritten = new LRUCache<string, DeprecatedCalls>({ max: MAX_DEPRECATED_CALLS })
  #cancelTimer: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: DeprecatedCallCounterOptions) {
    this.#options = options
  }

  /** Counts a call. */
  note(userId: string, method: string): void {
    const at = this.#options.now()
    this.#add({ userId, method, count: 1, firstAt: at, lastAt: at })
    this.#schedule()
  }

  /** Newest first, of all replicas. Calls of the last seconds may be missing. @throws {DomainError} `storage_unavailable`. */
  list(): Promise<readonly NamedDeprecatedCalls[]> {
    return this.#options.store.list()
  }

  /** Writes the rest. Counts that cannot be written are lost, and logged. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    await this.#writing
    await this.#write()
  }

  #add(calls: DeprecatedCalls): void {
    const { userId, method } = calls
    const key = `${userId} ${method}`
    const before = this.#unwritten.get(key)
    if (before === undefined) this.#unwritten.set(key, calls)
    else this.#unwritten.set(key, { ...calls, count: before.count + calls.count, firstAt: before.firstAt })
  }

  #schedule(): void {
    if (this.#cancelTimer !== undefined || this.#stopped) return
    this.#cancelTimer = this.#options.clock.after(WRITE_AFTER, () => {
      this.#writing = this.#write().then(() => {
        this.#cancelTimer = undefined
        if (this.#unwritten.size > 0) this.#schedule()
      })
    })
  }

  async #write(): Promise<void> {
    const { store, canWrite, clock, log } = this.#options
    if (this.#unwritten.size === 0 || !canWrite()) return
    const calls = [...this.#unwritten.values()]
    this.#unwritten.clear()
    try {
      await store.record(calls)
    } catch (error) {
      if (this.#throttle.admits(String(error), clock.monotonic())) {
        log.warn({ err: error, callers: calls.length }, 'calls of deprecated methods could not be written')
      }
      this.#restore(calls)
    }
  }

  /** The cache lists the latest first. Calls that came meanwhile are later. */
  #restore(calls: readonly DeprecatedCalls[]): void {
    const all = [...this.#unwritten.values(), ...calls]
    this.#unwritten.clear()
    for (const call of all.toReversed()) this.#add(call)
  }
}
