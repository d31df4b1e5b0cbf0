/**
 * For key rotation: the policy, keys without a private key, and the tombstones of revoked keys.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration. For that reason it
 * names kinds and defaults itself instead of using the domain, which changes.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    create table rotation (
      id smallint primary key,
      enabled boolean not null,
      kind text not null,
      bits integer,
      hasher text,
      curve text,
      rotation_interval integer not null,
      publish_ahead integer not null,
      retention integer not null,
      rollback_window integer not null,
      keep_standby boolean not null,
      request_date timestamptz(3),
      constraint rotation_single_row check (id = 1),
      constraint rotation_kind_with_its_choices check (
        case kind
          when 'rsa' then bits in (2048, 3072, 4096) and hasher in ('sha256', 'sha384', 'sha512') and curve is null
          when 'ecdsa' then bits is null and hasher is null and curve in ('P-256', 'P-384', 'P-521')
          when 'ed25519' then bits is null and hasher is null and curve is null
          else false
        end),
      constraint rotation_times_not_negative
        check (rotation_interval > 0 and publish_ahead >= 0 and retention >= 0 and rollback_window >= 0)
    )`,
  // Off: an existing instance may be rotated by another program. A new instance switches it on.
  sql`
    insert into rotation (
      id, enabled, kind, bits, hasher, rotation_interval, publish_ahead, retention, rollback_window, keep_standby
    ) values (1, false, 'rsa', 2048, 'sha256', 7776000, 604800, 604800, 604800, true)`,

  // Null: destroyed. The constraint also keeps an older program from activating such a key.
  sql`alter table web_keys alter column sealed_private_key drop not null`,
  sql`
    alter table web_keys add constraint web_keys_signing_takes_a_private_key
      check (state = 'inactive' or sealed_private_key is not null)`,

  // In a table of its own, so that no program publishes a revoked key.
  sql`
    create table revoked_web_keys (
      key_id text primary key,
      algorithm text not null,
      public_jwk jsonb not null,
      creation_date timestamptz(3) not null,
      activation_date timestamptz(3),
      deactivation_date timestamptz(3),
      revocation_date timestamptz(3) not null,
      constraint revoked_web_keys_public_jwk_is_public
        check (not (public_jwk ?| array['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']))
    )`,
  sql`create index revoked_web_keys_by_revocation on revoked_web_keys (revocation_date, key_id)`,
]

/** Adds the rotation of keys and the record of revoked ones. */
export const rotation: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
