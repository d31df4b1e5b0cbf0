/**
 * Whether the tokens of a user are bound to its client certificate (RFC 8705). An older program of the same major does not know, and goes
 * on issuing bearer tokens.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Certificates mean nothing for existing users. */
export const clientCertificates: Migration = {
  up: async (db: Kysely<unknown>) => {
    await sql`alter table service_users add column certificate_bound_tokens boolean not null default false`.execute(db)
  },
}
