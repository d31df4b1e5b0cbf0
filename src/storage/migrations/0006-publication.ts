/**
 * What it takes to know since when a key has been published, and behind which date the time of the instance must not go.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // Null: not seen committed yet. A replica dates it once it is.
  sql`alter table web_keys add column publication_date timestamptz(3)`,
  // Keys that are there now have been visible all the time.
  sql`update web_keys set publication_date = creation_date where state = 'initial'`,
  sql`
    alter table web_keys add constraint web_keys_published_after_creation
      check (creation_date <= publication_date)`,

  // The date of the newest change. Apart from changed_at, which is the clock's reading and with the version names a change.
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
