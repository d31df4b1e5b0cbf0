/**
 * An audit event as a row of `audit_events`, in both directions.
 */
import { randomUUID } from 'node:crypto'
import { type Kysely, type Selectable, sql } from 'kysely'
import type { AuditEntry, AuditEvent, Omission } from '../../domain/audit.ts'
import type { Tables } from '../schema/tables.ts'

/** The limits of the table, in characters. */
const MAX_LENGTHS = {
  actor: 200,
  action: 200,
  resource: 500,
  outcome: 200,
  requestId: 200,
  clientAddress: 64,
} as const

/** The greatest number of the column. */
const MAX_COUNT = 2 ** 31 - 1

/** The outcome of a change. */
const OK = 'ok'

/** Writes an event. Give it the transaction of the change that it is about. */
export async function insertAuditEvent(
  db: Kysely<Tables>,
  entry: AuditEntry,
  {
    at,
    outcome = OK,
    omission,
  }: { readonly at: Date; readonly outcome?: string; readonly omission?: Omission | undefined },
): Promise<void> {
  const row = {
    event_id: randomUUID(),
    event_date: at,
    actor: fitted(entry.actor, MAX_LENGTHS.actor),
    action: fitted(entry.action, MAX_LENGTHS.action),
    resource: fitted(entry.resource, MAX_LENGTHS.resource),
    outcome: fitted(outcome, MAX_LENGTHS.outcome),
    request_id: fitted(entry.requestId, MAX_LENGTHS.requestId),
    client_address: fitted(entry.clientAddress ?? '', MAX_LENGTHS.clientAddress),
    omitted_count: omission === undefined ? null : Math.min(omission.count, MAX_COUNT),
    omitted_since: omission?.since ?? null,
    epoch: sql<number>`(select audit_epoch from instance where id = 1)`,
  }
  await db.insertInto('audit_events').values(row).execute()
}

/** The event of a row. */
export function toAuditEvent(row: Selectable<Tables['audit_events']>): AuditEvent {
  return {
    eventId: row.event_id,
    at: row.event_date,
    actor: row.actor,
    action: row.action,
    resource: row.resource,
    outcome: row.outcome,
    requestId: row.request_id,
    clientAddress: row.client_address,
    omission:
      row.omitted_count === null ? null : { count: row.omitted_count, since: row.omitted_since ?? row.event_date },
  }
}

/** A refusal has text of unauthenticated callers: cut it, and replace the character that PostgreSQL refuses. */
function fitted(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replaceAll('\0', '\ufffd')
}
