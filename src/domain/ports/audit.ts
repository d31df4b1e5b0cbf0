/** The audit trail in the database. `storage/` implements these. */
import type { AuditEntry, AuditEvent, AuditFilter, AuditPosition, Omission, PositionedEvent } from '../audit.ts'
import type { Page } from './identities.ts'

export interface AuditLog {
  /** Writes a refusal. `outcome` is its reason. @param omission Given if it stands for dropped refusals. */
  refuse(entry: AuditEntry, outcome: string, omission?: Omission): Promise<void>
  list(filter: AuditFilter, page: Page<{ readonly at: Date; readonly eventId: string }>): Promise<readonly AuditEvent[]>
  /** Deletes events before a time, some at a time, and returns how many. */
  deleteBefore(at: Date): Promise<number>
}

export interface AuditBatch {
  readonly events: readonly PositionedEvent[]
  /** Where to go on: after the last event that was looked at, whether it matched or not. */
  readonly position: AuditPosition
  readonly isComplete: boolean
}

/**
 * Reads in an order that no late commit precedes, so that a reader which goes on from a position misses nothing: that of changes, from
 * which dates may differ. Both methods throw {DomainError} `storage_unavailable`.
 */
export interface AuditReader {
  /** The position after all events that can be read now. A transaction that stays open on the server holds back later events. */
  latest(): Promise<AuditPosition>
  /**
   * Reads at most `limit` events that match. @param position Null: from the first event.
   *
   * @throws {DomainError} `audit_position_invalid`; `audit_position_unknown` if the database was restored to an earlier time.
   */
  readAfter(
    position: AuditPosition | null,
    options: { readonly filter: AuditFilter; readonly limit: number },
  ): Promise<AuditBatch>
}
