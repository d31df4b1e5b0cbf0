/**
 * The issuer of the instance, so that no server issues tokens under another one (decision 13).
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

// Null until the next start, which stores the configured base URL.
const STATEMENT = sql`
  alter table instance add column issuer text
    constraint instance_issuer_length check (length(issuer) between 1 and 2000)`

/** Adds the issuer. */
export const issuer: Migration = {
  up: async (db: Kysely<unknown>) => {
    await STATEMENT.execute(db)
  },
}
