/**
 * The condition of an `AuditFilter` in SQL.
 */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { AuditFilter } from '../../domain/audit.ts'
import type { Tables } from '../schema/tables.ts'

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
