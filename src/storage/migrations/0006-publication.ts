/**
 * The publication date of a key (decision 14), and the date that the time of the instance must not precede (decision 15).
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // Null: not seen committed yet. Then a replica dates it.
  sql`alter table web_keys add column publication_date timestamptz(3)`,
  // Existing keys have been visible since their creation.
  sql`update web_keys set publication_date = creation_date where state = 'initial'`,
  sql`
    alter table web_keys add constraint web_keys_published_after_creation
      check (creation_date <= publication_date)`,

  // The date of the newest change. changed_at is the reading of the clock, which identifies a change together with the version.
  sql`alter table instance add column latest_at timestamptz(3)`,
  sql`
    update instance set latest_at = greatest(
      changed_at,
      (select max(event_date) from audit_events),
      (select max(greatest(creation_date, activation_date, deactivation_date)) from web_keys))`,
]

/** Adds the date of a key's publication and the date of the newest change. */
export const publication: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
