/**
 * Sign-in links and sessions of the console.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    create table sign_in_links (
      hash bytea primary key,
      user_id uuid not null references service_users on delete cascade,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3) not null,
      mac bytea not null,
      constraint sign_in_links_hash_is_sha256 check (octet_length(hash) = 32),
      constraint sign_in_links_expiration_after_creation check (expiration_date > creation_date),
      constraint sign_in_links_mac_is_sha256 check (octet_length(mac) = 32)
    )`,
  sql`
    create table console_sessions (
      session_id uuid primary key,
      hash bytea not null,
      user_id uuid not null references service_users on delete cascade,
      client_address text not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3) not null,
      last_use_date timestamptz(3) not null,
      mac bytea not null,
      constraint console_sessions_hash_unique unique (hash),
      constraint console_sessions_hash_is_sha256 check (octet_length(hash) = 32),
      constraint console_sessions_client_address_length check (length(client_address) <= 64),
      constraint console_sessions_expiration_after_creation check (expiration_date > creation_date),
      constraint console_sessions_mac_is_sha256 check (octet_length(mac) = 32)
    )`,
]

/** Adds the tables for the console. */
export const consoleSessions: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
