/**
 * For many replicas of different versions: the date of the last change, and the major version of the schema.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // Together with the version it identifies a change, also after a failover that lost some. Null: no date was stored.
  sql`alter table instance add column changed_at timestamptz(3)`,
  sql`
    alter table instance add column schema_major integer not null default 1
      constraint instance_schema_major_positive check (schema_major >= 1)`,
]

/** Adds the date of the last change and the major version of the schema. */
export const manyReplicas: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
