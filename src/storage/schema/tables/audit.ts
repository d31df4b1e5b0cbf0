/**
 * The audit trail.
 */
import type { ColumnType, Generated } from 'kysely'

export interface AuditTables {
  audit_events: AuditEventTable
}

interface AuditEventTable {
  event_id: string
  event_date: Date
  actor: string
  action: string
  resource: string
  outcome: string
  request_id: string
  client_address: Generated<string>
  omitted_count: ColumnType<number | null, number | null | undefined>
  omitted_since: ColumnType<Date | null, Date | null | undefined>
  /** `instance.audit_epoch` at the time. */
  epoch: Generated<number>
  /** The transaction that wrote it. pg reads it as text, like `sequence`. */
  transaction_id: ColumnType<string, never, never>
  sequence: ColumnType<string, never, never>
  reason: Generated<string>
}
