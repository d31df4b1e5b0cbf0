/** An audit event as a row of `audit_events`, in both directions. */
import { randomUUID } from 'node:crypto'
import { type Expression, type ExpressionBuilder, type Kysely, type Selectable, type SqlBool, sql } from 'kysely'
import type { AuditEntry, AuditEvent, AuditFilter, Omission } from '../../domain/audit.ts'
import type { Tables } from '../schema/tables.ts'
import { inChunks } from '../schema/write-rows.ts'

/** In characters. */
const MAX_LENGTHS = {
  actor: 200,
  action: 200,
  resource: 500,
  outcome: 200,
  requestId: 200,
  clientAddress: 64,
  reason: 200,
} as const

/** The greatest number of the column. */
const MAX_COUNT = 2 ** 31 - 1

/** The outcome of a change. */
const OK = 'ok'

/** What an event says besides its entry. */
interface EventFacts {
  readonly at: Date
  readonly outcome?: string
  readonly omission?: Omission | undefined
}

/** Writes an event. Give it the transaction of the change that it is about. */
export async function insertAuditEvent(db: Kysely<Tables>, entry: AuditEntry, facts: EventFacts): Promise<void> {
  await insertAuditEvents(db, [entry], facts)
}

/** Writes the events of one change. */
export async function insertAuditEvents(
  db: Kysely<Tables>,
  entries: readonly AuditEntry[],
  facts: EventFacts,
): Promise<void> {
  for (const some of inChunks(entries)) {
    const rows = some.map((entry) => toRow(entry, facts))
    await db.insertInto('audit_events').values(rows).execute()
  }
}

function toRow(entry: AuditEntry, { at, outcome = OK, omission }: EventFacts) {
  return {
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
    reason: fitted(entry.reason ?? '', MAX_LENGTHS.reason),
  }
}

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
    reason: row.reason,
    omission:
      row.omitted_count === null ? null : { count: row.omitted_count, since: row.omitted_since ?? row.event_date },
  }
}

/** A refusal has text of unauthenticated callers: cut it, and replace the character that PostgreSQL refuses. */
function fitted(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replaceAll('\0', '\ufffd')
}

/** Whether an event matches everything that is set. */
export function matches({ from, to, actor, resource }: AuditFilter) {
  return (eb: ExpressionBuilder<Tables, 'audit_events'>): Expression<SqlBool> => {
    const conditions: Expression<SqlBool>[] = []
    if (from !== null) conditions.push(eb('event_date', '>=', from))
    if (to !== null) conditions.push(eb('event_date', '<', to))
    if (actor !== null) conditions.push(eb('actor', '=', actor))
    if (resource !== null) {
      conditions.push(eb.or([eb('resource', '=', resource), eb('resource', 'like', `${escapeLike(resource)}/%`)]))
    }
    return eb.and(conditions)
  }
}

/** The pattern that only this text matches. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}
