/**
 * Trusted issuers, and the federated identities of service users.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    create table trusted_issuers (
      issuer_id uuid primary key,
      issuer text not null,
      keys jsonb not null,
      algorithms text[] not null,
      max_lifetime integer not null,
      creation_date timestamptz(3) not null,
      mac bytea not null,
      constraint trusted_issuers_issuer_unique unique (issuer),
      constraint trusted_issuers_issuer_length check (length(issuer) between 1 and 500),
      constraint trusted_issuers_keys_are_a_list check (jsonb_typeof(keys) = 'array'),
      constraint trusted_issuers_max_lifetime_in_range check (max_lifetime between 60 and 86400),
      constraint trusted_issuers_mac_is_sha256 check (octet_length(mac) = 32)
    )`,
  // What an issuer was believed for ends with it.
  sql`
    create table federated_identities (
      identity_id uuid primary key,
      user_id uuid not null references service_users on delete cascade,
      issuer_id uuid not null
        constraint federated_identities_issuer_exists references trusted_issuers on delete cascade,
      subject text not null,
      audience text,
      claims jsonb not null,
      creation_date timestamptz(3) not null,
      mac bytea not null,
      constraint federated_identities_subject_length check (length(subject) between 1 and 500),
      constraint federated_identities_audience_length check (length(audience) between 1 and 500),
      constraint federated_identities_claims_are_a_list check (jsonb_typeof(claims) = 'array'),
      constraint federated_identities_mac_is_sha256 check (octet_length(mac) = 32)
    )`,
  sql`create index federated_identities_of_user on federated_identities (user_id)`,
  sql`create index federated_identities_by_subject on federated_identities (issuer_id, subject)`,
]

/** Adds the tables for workload identity federation. */
export const federation: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
