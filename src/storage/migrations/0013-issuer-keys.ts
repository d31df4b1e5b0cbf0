/**
 * Keys of trusted issuers that are fetched. An older program of the same major cannot read an issuer of that kind, and says so.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    alter table trusted_issuers
      add column key_source text not null default 'given',
      add column key_url text,
      add column ca_certificates text,
      add column max_key_staleness integer,
      add constraint trusted_issuers_key_source_with_its_choices check (
        case key_source
          when 'given' then key_url is null and ca_certificates is null and max_key_staleness is null
          when 'discovery' then key_url is null and max_key_staleness is not null and keys = '[]'
          when 'jwks_url' then key_url is not null and max_key_staleness is not null and keys = '[]'
          when 'spiffe_bundle_url' then key_url is not null and max_key_staleness is not null and keys = '[]'
          else false
        end),
      add constraint trusted_issuers_key_url_length check (length(key_url) between 1 and 1000),
      add constraint trusted_issuers_ca_certificates_length check (length(ca_certificates) between 1 and 25000),
      add constraint trusted_issuers_max_key_staleness_in_range check (max_key_staleness between 600 and 2592000)`,
  // Apart from the issuer, because a fetch is no change of the instance unless it finds other keys.
  sql`
    create table issuer_keys (
      issuer_id uuid primary key references trusted_issuers on delete cascade,
      keys jsonb not null,
      fetch_date timestamptz(3),
      mac bytea,
      attempt_date timestamptz(3),
      next_fetch_date timestamptz(3) not null,
      lease uuid,
      failure text,
      failure_date timestamptz(3),
      failures integer not null,
      constraint issuer_keys_are_a_list check (jsonb_typeof(keys) = 'array'),
      constraint issuer_keys_fetched_have_a_mac check (
        (fetch_date is null) = (mac is null) and (fetch_date is not null or keys = '[]')),
      constraint issuer_keys_mac_is_sha256 check (octet_length(mac) = 32),
      constraint issuer_keys_failure_has_a_date check ((failure is null) = (failure_date is null)),
      constraint issuer_keys_failure_length check (length(failure) <= 1000)
    )`,
]

/** Adds where the keys of an issuer come from, and those that were fetched. */
export const issuerKeys: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
