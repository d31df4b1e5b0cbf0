/**
 * The first schema: the instance, its web keys, and its service users with their projects, secrets and grants.
 *
 * Part of the schema's history: once released it is never edited, a change is another migration. For that reason it
 * names algorithms, states and roles itself instead of using the domain, which changes. Important rules of the domain are
 * constraints here too, because all replicas share the database.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const STATEMENTS = [
  sql`
    create table instance (
      id smallint primary key,
      version bigint not null,
      initialised_at timestamptz(3),
      constraint instance_single_row check (id = 1),
      constraint instance_version_not_negative check (version >= 0)
    )`,
  sql`insert into instance (id, version) values (1, 0)`,

  sql`
    create table web_keys (
      key_id text primary key,
      algorithm text not null,
      state text not null,
      public_jwk jsonb not null,
      sealed_private_key text not null,
      creation_date timestamptz(3) not null,
      activation_date timestamptz(3),
      deactivation_date timestamptz(3),
      constraint web_keys_known_algorithm
        check (algorithm in ('RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA')),
      constraint web_keys_known_state check (state in ('initial', 'active', 'inactive')),
      constraint web_keys_public_jwk_is_public
        check (not (public_jwk ?| array['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])),
      constraint web_keys_dates_match_state check (
        case state
          when 'initial' then activation_date is null and deactivation_date is null
          when 'active' then activation_date is not null and deactivation_date is null
          when 'inactive' then activation_date is not null and deactivation_date is not null
        end),
      constraint web_keys_dates_in_order
        check (creation_date <= activation_date and activation_date <= deactivation_date)
    )`,
  sql`create unique index web_keys_one_active on web_keys (state) where state = 'active'`,

  sql`
    create table projects (
      project_id uuid primary key,
      name text not null,
      constraint projects_name_unique unique (name),
      constraint projects_name_form check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$')
    )`,
  sql`
    create table project_roles (
      project_id uuid not null references projects on delete cascade,
      role text not null,
      primary key (project_id, role),
      constraint project_roles_role_length check (length(role) between 1 and 200)
    )`,
  sql`
    create table project_scopes (
      project_id uuid not null references projects on delete cascade,
      scope text not null,
      primary key (project_id, scope),
      constraint project_scopes_scope_is_a_scope_token check (scope ~ '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,200}$')
    )`,

  sql`
    create table service_users (
      user_id uuid primary key,
      project_id uuid not null references projects,
      name text not null,
      enabled boolean not null,
      client_credentials_enabled boolean not null,
      creation_date timestamptz(3) not null,
      constraint service_users_in_project unique (user_id, project_id),
      constraint service_users_name_length check (length(name) between 1 and 200)
    )`,
  sql`create index service_users_of_project on service_users (project_id)`,
  sql`
    create table client_secrets (
      secret_id uuid primary key,
      user_id uuid not null references service_users on delete cascade,
      hash bytea not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3),
      deactivation_date timestamptz(3),
      constraint client_secrets_hash_is_sha256 check (octet_length(hash) = 32),
      constraint client_secrets_dates_in_order
        check (creation_date <= expiration_date and creation_date <= deactivation_date)
    )`,
  sql`create index client_secrets_of_user on client_secrets (user_id)`,
  sql`
    create table instance_members (
      user_id uuid not null references service_users on delete cascade,
      role text not null,
      primary key (user_id, role),
      constraint instance_members_known_role check (role in ('IAM_OWNER', 'IAM_OWNER_VIEWER'))
    )`,
  sql`
    create table user_project_roles (
      user_id uuid not null references service_users on delete cascade,
      project_id uuid not null,
      role text not null,
      primary key (user_id, project_id, role),
      constraint user_project_roles_role_exists
        foreign key (project_id, role) references project_roles on delete cascade
    )`,
  sql`create index user_project_roles_of_role on user_project_roles (project_id, role)`,
  sql`
    create table user_scopes (
      user_id uuid not null,
      project_id uuid not null,
      scope text not null,
      primary key (user_id, project_id, scope),
      constraint user_scopes_of_own_project
        foreign key (user_id, project_id) references service_users (user_id, project_id) on delete cascade,
      constraint user_scopes_scope_exists
        foreign key (project_id, scope) references project_scopes on delete cascade
    )`,
  sql`create index user_scopes_of_scope on user_scopes (project_id, scope)`,
]

/** Creates every table of the first version. */
export const initialSchema: Migration = {
  up: async (db: Kysely<unknown>) => {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}
