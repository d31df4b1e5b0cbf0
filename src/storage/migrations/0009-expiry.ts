/**
 * Credentials may expire before their creation date: that is the date of a change, which may be up to a day ahead of the clock that
 * decides about their expiry (decision 15).
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`alter table client_secrets drop constraint client_secrets_dates_in_order`,
  sql`alter table user_keys drop constraint user_keys_dates_in_order`,
  sql`alter table personal_access_tokens drop constraint personal_access_tokens_dates_in_order`,
  // A deactivation is a change, so it is dated after the creation.
  sql`
    alter table client_secrets add constraint client_secrets_deactivated_after_creation
      check (creation_date <= deactivation_date)`,
]

/** Lets the clock decide about the expiry of credentials. */
export const expiry: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
