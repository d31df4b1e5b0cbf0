/**
 * Which replicas run, and who calls deprecated methods. Both are shown to operators, and nothing is decided by them.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    create table replicas (
      replica_id uuid primary key,
      host_name text not null,
      keyturn_version text not null,
      start_date timestamptz(3) not null,
      last_seen_date timestamptz(3) not null,
      version bigint not null,
      versions_behind bigint not null,
      lag_seconds double precision,
      ready boolean not null,
      reason text not null,
      constraint replicas_host_name_length check (length(host_name) <= 255),
      constraint replicas_keyturn_version_length check (length(keyturn_version) <= 100),
      constraint replicas_versions_behind_not_negative check (versions_behind >= 0),
      constraint replicas_reason_length check (length(reason) <= 1000)
    )`,
  sql`
    create table deprecated_calls (
      user_id uuid not null references service_users on delete cascade,
      method text not null,
      call_count bigint not null,
      first_call_date timestamptz(3) not null,
      last_call_date timestamptz(3) not null,
      primary key (user_id, method),
      constraint deprecated_calls_method_length check (length(method) between 1 and 200),
      constraint deprecated_calls_count_positive check (call_count > 0)
    )`,
]

/** Adds the tables for the heartbeats of replicas and for calls of deprecated methods. */
export const replicas: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
