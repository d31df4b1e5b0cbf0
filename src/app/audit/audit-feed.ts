/**
 * Follows the audit trail: batches of events, as they can be read.
 *
 * While there are followers, one poll of a replica looks for new events for all of them: when a change becomes known, and every second,
 * because refusals are no changes. A follower reads for itself, from its own position.
 */
import type { AuditFilter, AuditPosition } from '../../domain/audit.ts'
import type { AuditBatch, AuditReader } from '../../domain/ports/audit.ts'
import type { Clock } from '../../domain/time.ts'

/** The longest time between two polls, in milliseconds. */
const POLL_EVERY = 1_000

/** The shortest one, however many changes there are. */
const POLL_AFTER_CHANGE = 100

/** How many events a follower has in memory. */
const BATCH = 100

/** What the feed needs. */
export interface AuditFeedOptions {
  readonly reader: AuditReader
  /** Calls `listener` when something may have changed, until the returned function is called. */
  readonly onChange: (listener: () => void) => () => void
  readonly clock: Clock
}

/** What to follow. */
export interface Following {
  /** Null: from the first event that matches. */
  readonly after: AuditPosition | null
  readonly filter: AuditFilter
  /** Ends it. */
  readonly signal: AbortSignal
  /** How long to wait for an event before a batch without one, in milliseconds. */
  readonly idleMillis: number
}

interface Waiter {
  readonly seen: AuditPosition | undefined
  readonly wake: () => void
  readonly fail: (error: unknown) => void
}

export class AuditFeed {
  readonly #options: AuditFeedOptions
  #followers = 0
  readonly #waiters = new Set<Waiter>()
  /** As the last poll found it. Undefined: not known, because there are no followers. */
  #latest: AuditPosition | undefined
  #nextPoll: { readonly at: number; readonly cancel: () => void } | undefined
  #isPolling = false
  #unsubscribe: (() => void) | undefined

  constructor(options: AuditFeedOptions) {
    this.#options = options
  }

  /** The position after everything that can be read now. @throws {DomainError} `storage_unavailable`. */
  latest(): Promise<AuditPosition> {
    return this.#options.reader.latest()
  }

  /**
   * Yields the events after a position, then those that come, until the signal is aborted. A batch may be empty.
   *
   * @throws {DomainError} while iterating: what `AuditReader.readAfter` throws.
   */
  async *follow({ after, filter, signal, idleMillis }: Following): AsyncGenerator<AuditBatch, void> {
    let position = after
    this.#enter()
    try {
      while (!signal.aborted) {
        // Before reading: what comes meanwhile is another one.
        const seen = this.#latest
        const batch = await this.#options.reader.readAfter(position, { filter, limit: BATCH })
        position = batch.position
        yield batch
        if (batch.isComplete) await this.#newEvent(seen, { signal, idleMillis })
      }
    } finally {
      this.#leave()
    }
  }

  #enter(): void {
    this.#followers += 1
    if (this.#followers > 1) return
    this.#unsubscribe = this.#options.onChange(() => this.#pollIn(POLL_AFTER_CHANGE))
    this.#pollIn(POLL_EVERY)
  }

  #leave(): void {
    this.#followers -= 1
    if (this.#followers > 0) return
    this.#unsubscribe?.()
    this.#nextPoll?.cancel()
    this.#nextPoll = undefined
    this.#latest = undefined
  }

  /** Resolves when a poll finds another latest position than `seen`, after the idle time, or when the signal is aborted. */
  #newEvent(
    seen: AuditPosition | undefined,
    { signal, idleMillis }: Pick<Following, 'signal' | 'idleMillis'>,
  ): Promise<void> {
    if (signal.aborted || this.#latest !== seen) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', wake)
        cancelIdle()
      }
      const wake = () => {
        settle()
        resolve()
      }
      const fail = (error: unknown) => {
        settle()
        reject(error)
      }
      const waiter = { seen, wake, fail }
      const cancelIdle = this.#options.clock.after(idleMillis, wake)
      signal.addEventListener('abort', wake)
      this.#waiters.add(waiter)
    })
  }

  /** Polls after so many milliseconds, if not sooner. */
  #pollIn(milliseconds: number): void {
    const { clock } = this.#options
    const at = clock.monotonic() + milliseconds
    if (this.#nextPoll !== undefined && this.#nextPoll.at <= at) return
    this.#nextPoll?.cancel()
    const cancel = clock.after(milliseconds, () => {
      this.#nextPoll = undefined
      if (this.#isPolling) this.#pollIn(POLL_AFTER_CHANGE)
      else void this.#poll()
    })
    this.#nextPoll = { at, cancel }
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    try {
      const latest = await this.#options.reader.latest()
      this.#latest = latest
      for (const waiter of [...this.#waiters]) if (waiter.seen !== latest) waiter.wake()
    } catch (error) {
      for (const waiter of [...this.#waiters]) waiter.fail(error)
    }
    this.#isPolling = false
    if (this.#followers > 0) this.#pollIn(POLL_EVERY)
  }
}
