/**
 * The labels of configurations, a column of each table of resources that can have one.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../schema/tables.ts'

/** Tables whose rows can have a label, and their ids, which are UUIDs and different in all tables. */
const LABELLED = { projects: 'project_id', service_users: 'user_id', trusted_issuers: 'issuer_id' } as const

export async function readLabels(db: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const labels = new Map<string, string>()
  for (const [table, id] of Object.entries(LABELLED)) {
    const { rows } = await sql<{ id: string; label: string }>`
      select ${sql.ref(id)} as id, configuration_label as label from ${sql.table(table)}
      where ${sql.ref(id)} = any(${ids}::uuid[]) and configuration_label is not null`.execute(db)
    for (const row of rows) labels.set(row.id, row.label)
  }
  return labels
}

/** Gives these resources a label. */
export async function writeLabels(trx: Transaction<Tables>, ids: readonly string[], label: string): Promise<void> {
  if (ids.length === 0) return
  for (const [table, id] of Object.entries(LABELLED)) {
    await sql`
      update ${sql.table(table)} set configuration_label = ${label}
      where ${sql.ref(id)} = any(${ids}::uuid[])`.execute(trx)
  }
}
