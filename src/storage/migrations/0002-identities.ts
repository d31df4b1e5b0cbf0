/**
 * For the administration of identities: creation dates of projects, last uses of secrets, public keys and personal
 * access tokens of users, the audit trail, and used assertions.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  // The creation dates of existing projects are not known: now is the latest possible one.
  sql`alter table projects add column creation_date timestamptz(3) not null default now()`,
  sql`alter table projects alter column creation_date drop default`,
  // Pages are cut by comparing bytes, so that they are the same in every database.
  sql`create index projects_by_name on projects (name collate "C")`,

  sql`create index service_users_by_creation on service_users (creation_date, user_id)`,
  sql`create index service_users_of_project_by_creation on service_users (project_id, creation_date, user_id)`,
  // The previous one begins with the same column.
  sql`drop index service_users_of_project`,

  sql`alter table client_secrets add column last_use_date timestamptz(3)`,

  sql`
    create table user_keys (
      key_id uuid primary key,
      user_id uuid not null references service_users on delete cascade,
      public_jwk jsonb not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3),
      constraint user_keys_public_jwk_is_public
        check (not (public_jwk ?| array['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])),
      constraint user_keys_dates_in_order check (creation_date <= expiration_date)
    )`,
  sql`create index user_keys_of_user on user_keys (user_id)`,
  sql`
    create table personal_access_tokens (
      token_id uuid primary key,
      user_id uuid not null references service_users on delete cascade,
      hash bytea not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3) not null,
      constraint personal_access_tokens_hash_unique unique (hash),
      constraint personal_access_tokens_hash_is_sha256 check (octet_length(hash) = 32),
      constraint personal_access_tokens_dates_in_order check (creation_date <= expiration_date)
    )`,
  sql`create index personal_access_tokens_of_user on personal_access_tokens (user_id)`,

  // Nothing refers to users and projects: the trail outlives them.
  sql`
    create table audit_events (
      event_id uuid primary key,
      event_date timestamptz(3) not null,
      actor text not null,
      action text not null,
      resource text not null,
      outcome text not null,
      request_id text not null,
      constraint audit_events_actor_length check (length(actor) between 1 and 200),
      constraint audit_events_action_length check (length(action) between 1 and 200),
      constraint audit_events_resource_length check (length(resource) <= 500),
      constraint audit_events_outcome_length check (length(outcome) between 1 and 200),
      constraint audit_events_request_id_length check (length(request_id) <= 200)
    )`,
  sql`create index audit_events_by_date on audit_events (event_date, event_id)`,
  sql`create index audit_events_of_actor on audit_events (actor, event_date, event_id)`,
  sql`create index audit_events_of_resource on audit_events (resource text_pattern_ops, event_date, event_id)`,

  sql`
    create table used_assertions (
      id text primary key,
      expiration_date timestamptz(3) not null,
      constraint used_assertions_id_length check (length(id) between 1 and 200)
    )`,
  sql`create index used_assertions_by_expiration on used_assertions (expiration_date)`,
]

/** Adds the tables and columns for identities. */
export const identities: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
