/**
 * For the rate limits of the audit trail (decision 17): the address of the client, and the number of refusals that were left
 * out.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

// `not valid`: only new rows are checked. Checking the existing ones would read the whole trail under an exclusive lock, and they have
// the defaults, which are valid.
const STATEMENTS = [
  sql`alter table audit_events add column client_address text not null default ''`,
  sql`
    alter table audit_events add constraint audit_events_client_address_length
      check (length(client_address) <= 64) not valid`,
  // Null: not an event `audit/omitted`.
  sql`alter table audit_events add column omitted_count integer`,
  sql`alter table audit_events add column omitted_since timestamptz(3)`,
  sql`
    alter table audit_events add constraint audit_events_omission_whole
      check ((omitted_count is null) = (omitted_since is null) and omitted_count > 0) not valid`,
]

/** Adds client addresses and counts of omitted refusals to audit events. */
export const auditAddress: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
