/**
 * Whether a user gets bound tokens only (RFC 9449). An older program of the same major does not know, and goes on issuing bearer tokens.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Existing users may go on with bearer tokens. */
export const boundTokens: Migration = {
  up: async (db: Kysely<unknown>) => {
    await sql`alter table service_users add column bound_tokens_required boolean not null default false`.execute(db)
  },
}
