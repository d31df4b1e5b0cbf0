/** Follows the audit trail: batches of events, as they can be read. */
import type { AuditFilter, AuditPosition } from '../../domain/audit.ts'
import type { AuditBatch, AuditReader } from '../../domain/ports/audit.ts'
import type { Clock } from '../../domain/time.ts'

/** The longest time between two reads of a follower, in milliseconds: refusals are no changes that a replica learns of. */
const READ_EVERY = 1_000

/** From a change that the replica learns of to the next read, in milliseconds. */
const READ_AFTER_CHANGE = 100

const BATCH = 100

export interface AuditFeedOptions {
  readonly reader: AuditReader
  /** Calls `listener` when something may have changed, until the returned function is called. */
  readonly onChange: (listener: () => void) => () => void
  readonly clock: Clock
}

export interface Following {
  /** Null: from the first event that matches. */
  readonly after: AuditPosition | null
  readonly filter: AuditFilter
  readonly signal: AbortSignal
  /** How long to wait for an event before a batch without one, in milliseconds. */
  readonly idleMillis: number
}

export type AuditFeed = ReturnType<typeof createAuditFeed>

export function createAuditFeed({ reader, onChange, clock }: AuditFeedOptions) {
  const pause = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const end = () => {
        cancel()
        unsubscribe()
        signal.removeEventListener('abort', end)
        resolve()
      }
      let cancel = clock.after(READ_EVERY, end)
      const unsubscribe = onChange(() => {
        unsubscribe()
        cancel()
        cancel = clock.after(READ_AFTER_CHANGE, end)
      })
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })

  return {
    /** The position after everything that can be read now. @throws {DomainError} `storage_unavailable`. */
    latest: () => reader.latest(),

    /**
     * Yields the events after a position, then those that come, until the signal is aborted. A batch may be empty.
     * @throws {DomainError} while iterating: what `AuditReader.readAfter` throws.
     */
    async *follow({ after, filter, signal, idleMillis }: Following): AsyncGenerator<AuditBatch, void> {
      let position = after
      let yieldedAt = Number.NEGATIVE_INFINITY
      while (!signal.aborted) {
        const batch = await reader.readAfter(position, { filter, limit: BATCH })
        if (batch.position !== position || clock.monotonic() - yieldedAt >= idleMillis) {
          position = batch.position
          yield batch
          yieldedAt = clock.monotonic()
        }
        if (batch.isComplete) await pause(signal)
      }
    },
  }
}
