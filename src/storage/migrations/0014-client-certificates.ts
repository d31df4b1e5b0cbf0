/**
 * Client certificates of service users (RFC 8705): those with which they authenticate, and whether their tokens are bound to one. An older
 * program of the same major does not know, and goes on issuing bearer tokens.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // Certificates mean nothing for existing users.
  sql`alter table service_users add column certificate_bound_tokens boolean not null default false`,
  sql`
    create table client_certificates (
      certificate_id uuid primary key,
      user_id uuid not null references service_users on delete cascade,
      match text not null,
      value text not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3),
      mac bytea not null,
      constraint client_certificates_match_known check (match in ('subject_dn', 'san_dns', 'san_uri', 'thumbprint')),
      constraint client_certificates_value_length check (length(value) between 1 and 2000),
      constraint client_certificates_mac_is_sha256 check (octet_length(mac) = 32)
    )`,
  sql`create index client_certificates_of_user on client_certificates (user_id)`,
]

/** Adds client certificates. */
export const clientCertificates: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
