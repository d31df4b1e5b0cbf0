/**
 * Configurations: the label of the one that a resource belongs to, and the reason of a change in its audit event.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const LABELLED = ['projects', 'service_users', 'trusted_issuers']

const STATEMENTS = [
  ...LABELLED.flatMap((name) => [
    sql`alter table ${sql.table(name)} add column configuration_label text`,
    sql`
      alter table ${sql.table(name)} add constraint ${sql.ref(`${name}_configuration_label_length`)}
      check (length(configuration_label) between 1 and 63)`,
    sql`
      create index ${sql.ref(`${name}_by_configuration_label`)} on ${sql.table(name)} (configuration_label)
      where configuration_label is not null`,
  ]),
  // Configurations name users so.
  sql`create index service_users_by_name on service_users (project_id, name)`,
  sql`alter table audit_events add column reason text not null default ''`,
  // `not valid`: only new rows are checked. The existing ones have the default, and checking them would read the whole trail under an
  // exclusive lock.
  sql`alter table audit_events add constraint audit_events_reason_length check (length(reason) <= 200) not valid`,
]

/** Adds labels and reasons. */
export const configuration: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
