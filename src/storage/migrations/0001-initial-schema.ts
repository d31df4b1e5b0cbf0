/**
 * The schema of the first release.
 *
 * Once released it is never edited: a change is another migration. For that reason it names algorithms, states and roles itself
 * instead of using the domain, which changes. Important rules of the domain are constraints here too, because all replicas share
 * the database. Nothing in `audit_events` refers to users and projects, which the trail outlives.
 */
import { sql } from 'kysely'

const IS_PUBLIC = sql.raw(`check (not (public_jwk::jsonb ?| array['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']))`)

const INSTANCE = [
  sql`
    create table instance (
      id smallint primary key,
      version bigint not null,
      initialised_at timestamptz(3),
      -- The date of the newest change (decision 15). Together with the version it identifies the change, also after a failover that lost some.
      changed_at timestamptz(3),
      schema_major integer not null default 1,
      sealed_integrity_key text,
      -- Null until the first start, which stores the configured base URL (decision 13).
      issuer text,
      -- The order of audit events (decision 37).
      audit_epoch integer not null default 0,
      constraint instance_single_row check (id = 1),
      constraint instance_version_not_negative check (version >= 0),
      constraint instance_schema_major_positive check (schema_major >= 1),
      constraint instance_initialised_with_integrity_key
        check (initialised_at is null or sealed_integrity_key is not null)
    )`,
  sql`insert into instance (id, version) values (1, 0)`,
  // Which users each of the last changes may have changed. Null: any user.
  sql`
    create table instance_changes (
      version bigint primary key,
      changed_at timestamptz not null,
      user_ids uuid[],
      project_ids uuid[] not null
    )`,
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
      reason text not null
    )`,
]

const WEB_KEYS = [
  sql`
    create table web_keys (
      key_id text primary key,
      algorithm text not null,
      state text not null,
      -- Text, because the MAC covers it.
      public_jwk text not null,
      -- Null: destroyed.
      sealed_private_key text,
      creation_date timestamptz(3) not null,
      -- Null: not seen committed yet. Then a replica dates it (decision 14).
      publication_date timestamptz(3),
      activation_date timestamptz(3),
      deactivation_date timestamptz(3),
      mac bytea not null,
      constraint web_keys_known_algorithm
        check (algorithm in ('RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA')),
      constraint web_keys_known_state check (state in ('initial', 'active', 'inactive')),
      constraint web_keys_public_jwk_is_public ${IS_PUBLIC},
      constraint web_keys_signing_takes_a_private_key check (state = 'inactive' or sealed_private_key is not null),
      constraint web_keys_dates_match_state check (
        case state
          when 'initial' then activation_date is null and deactivation_date is null
          when 'active' then activation_date is not null and deactivation_date is null
          when 'inactive' then activation_date is not null and deactivation_date is not null
        end),
      constraint web_keys_dates_in_order
        check (creation_date <= activation_date and activation_date <= deactivation_date),
      constraint web_keys_published_after_creation check (creation_date <= publication_date)
    )`,
  sql`create unique index web_keys_one_active on web_keys (state) where state = 'active'`,
  // Apart from the others, so that nothing publishes a revoked key.
  sql`
    create table revoked_web_keys (
      key_id text primary key,
      algorithm text not null,
      public_jwk text not null,
      creation_date timestamptz(3) not null,
      activation_date timestamptz(3),
      deactivation_date timestamptz(3),
      revocation_date timestamptz(3) not null,
      mac bytea not null,
      constraint revoked_web_keys_public_jwk_is_public ${IS_PUBLIC}
    )`,
  sql`create index revoked_web_keys_by_revocation on revoked_web_keys (revocation_date, key_id)`,
  sql`
    create table rotation (
      id smallint primary key,
      policy json not null,
      request_date timestamptz(3),
      constraint rotation_single_row check (id = 1)
    )`,
  // The first start of a server switches it on.
  sql`
    insert into rotation (id, policy) values (1, '{"enabled":false,"config":{"kind":"rsa","bits":2048,"hasher":"sha256"},
      "rotationIntervalSeconds":7776000,"publishAheadSeconds":604800,"retentionSeconds":604800,"rollbackWindowSeconds":604800,
      "keepStandby":true}')`,
]

const IDENTITIES = [
  sql`
    create table projects (
      project_id uuid primary key,
      name text not null,
      roles_claim boolean not null default false,
      creation_date timestamptz(3) not null,
      -- Of the configuration that it belongs to.
      configuration_label text,
      constraint projects_name_unique unique (name),
      constraint projects_name_form check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$')
    )`,
  // Pages are cut by comparing bytes, so that they are the same in every database.
  sql`create index projects_by_name on projects (name collate "C")`,
  sql`
    create index projects_by_configuration_label on projects (configuration_label)
      where configuration_label is not null`,
  sql`
    create table project_roles (
      project_id uuid not null references projects on delete cascade,
      role text not null,
      primary key (project_id, role)
    )`,
  sql`
    create table project_scopes (
      project_id uuid not null references projects on delete cascade,
      scope text not null,
      primary key (project_id, scope),
      constraint project_scopes_scope_is_a_scope_token check (scope ~ '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,200}$')
    )`,
  // An audience belongs to one project, whose services alone accept a token for it.
  sql`
    create table project_audiences (
      project_id uuid not null references projects on delete cascade,
      audience text not null,
      primary key (project_id, audience),
      constraint project_audiences_audience_unique unique (audience),
      constraint project_audiences_audience_length check (length(audience) <= 200),
      constraint project_audiences_audience_is_a_uri
        check (audience ~ '^[A-Za-z][A-Za-z0-9+.-]*:[][A-Za-z0-9._~:/?@!$&''()*+,;=%-]+$')
    )`,

  sql`
    create table service_users (
      user_id uuid primary key,
      project_id uuid not null references projects,
      name text not null,
      enabled boolean not null,
      creation_date timestamptz(3) not null,
      instance_roles text[] not null default '{}',
      -- What an administrator sets. Not jsonb, so that the members of claims keep their order.
      settings json not null,
      token_revocation_date timestamptz(3),
      -- Of the configuration that it belongs to.
      configuration_label text,
      constraint service_users_in_project unique (user_id, project_id),
      constraint service_users_known_instance_roles check (instance_roles <@
        array['IAM_OWNER', 'IAM_OWNER_VIEWER', 'IAM_KEY_OPERATOR', 'IAM_AUDITOR', 'IAM_USER_ADMINISTRATOR']),
      constraint service_users_token_lifetime_range check ((settings ->> 'tokenLifetimeSeconds')::integer between 60 and 86400),
      constraint service_users_token_claims_are_an_object check (json_typeof(settings -> 'tokenClaims') = 'object')
    )`,
  sql`create index service_users_by_creation on service_users (creation_date, user_id)`,
  sql`create index service_users_of_project_by_creation on service_users (project_id, creation_date, user_id)`,
  sql`create index service_users_owners on service_users (user_id) where enabled and 'IAM_OWNER' = any(instance_roles)`,
  sql`create index service_users_by_name on service_users (project_id, name)`,
  sql`
    create index service_users_by_configuration_label on service_users (configuration_label)
      where configuration_label is not null`,
  sql`
    create table project_members (
      user_id uuid not null references service_users on delete cascade,
      project_id uuid not null
        constraint project_members_project_exists references projects on delete cascade,
      role text not null,
      primary key (user_id, project_id),
      constraint project_members_known_role check (role in ('PROJECT_OWNER', 'PROJECT_OWNER_VIEWER'))
    )`,
  sql`create index project_members_of_project on project_members (project_id, user_id)`,
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

const FEDERATION = [
  sql`
    create table trusted_issuers (
      issuer_id uuid primary key,
      issuer text not null,
      -- JSON. Text, because the MAC covers it.
      content text not null,
      creation_date timestamptz(3) not null,
      mac bytea not null,
      -- Of the configuration that it belongs to.
      configuration_label text,
      constraint trusted_issuers_issuer_unique unique (issuer)
    )`,
  sql`
    create index trusted_issuers_by_configuration_label on trusted_issuers (configuration_label)
      where configuration_label is not null`,
]

// Their expiry dates have no order with their creation: that is the date of a change, which may be ahead of the clock that decides about
// the expiry (decision 15).
const CREDENTIALS = [
  sql`
    create table credentials (
      credential_id uuid primary key,
      user_id uuid not null references service_users on delete cascade,
      kind text not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3),
      -- Of secrets and tokens.
      hash bytea,
      deactivation_date timestamptz(3),
      last_use_date timestamptz(3),
      -- Of the others, JSON. Text, because the MAC covers it.
      content text,
      mac bytea,
      -- Copies from the content of a federated identity, by which it is found, and ends with its issuer.
      issuer_id uuid constraint credentials_issuer_exists references trusted_issuers on delete cascade,
      subject text,
      -- How many days before the expiry that was announced the last time.
      announced_days integer,
      constraint credentials_known_kind check (
        kind in ('client_secret', 'user_key', 'personal_access_token', 'client_certificate', 'federated_identity')),
      constraint credentials_hash_or_mac check (
        case when kind in ('client_secret', 'personal_access_token')
          then hash is not null and content is null and mac is null
          else hash is null and content is not null and mac is not null
        end),
      constraint credentials_tokens_expire check (kind <> 'personal_access_token' or expiration_date is not null),
      constraint credentials_identities_name_an_issuer check (
        (kind = 'federated_identity') = (issuer_id is not null) and (issuer_id is null) = (subject is null)),
      constraint credentials_public_jwk_is_public
        check (not (content::jsonb -> 'publicJwk' ?| array['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])),
      constraint credentials_deactivated_after_creation check (creation_date <= deactivation_date)
    )`,
  sql`create index credentials_of_user on credentials (user_id)`,
  sql`create index credentials_by_expiration on credentials (expiration_date) where expiration_date is not null`,
  sql`create unique index credentials_token_unique on credentials (hash) where kind = 'personal_access_token'`,
  sql`create index credentials_by_subject on credentials (issuer_id, subject) where issuer_id is not null`,
  sql`
    create table revoked_tokens (
      user_id uuid not null references service_users on delete cascade,
      token_id text not null,
      expiration_date timestamptz(3) not null,
      primary key (user_id, token_id),
      constraint revoked_tokens_token_id_length check (length(token_id) between 1 and 200)
    )`,
  sql`create index revoked_tokens_by_expiration on revoked_tokens (expiration_date)`,
  sql`
    create table used_assertions (
      id text primary key,
      expiration_date timestamptz(3) not null,
      constraint used_assertions_id_length check (length(id) between 1 and 200)
    )`,
  sql`create index used_assertions_by_expiration on used_assertions (expiration_date)`,
]

const CONSOLE = [
  sql`
    create table sign_in_links (
      hash bytea primary key,
      user_id uuid not null references service_users on delete cascade,
      -- What the session came from, JSON. Text, because the MAC covers it.
      origin text not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3) not null,
      mac bytea not null,
      constraint sign_in_links_expiration_after_creation check (expiration_date > creation_date)
    )`,
  sql`
    create table console_sessions (
      session_id uuid primary key,
      hash bytea not null,
      user_id uuid not null references service_users on delete cascade,
      -- What the session came from, JSON. Text, because the MAC covers it.
      origin text not null,
      client_address text not null,
      creation_date timestamptz(3) not null,
      expiration_date timestamptz(3) not null,
      last_use_date timestamptz(3) not null,
      mac bytea not null,
      constraint console_sessions_hash_unique unique (hash),
      constraint console_sessions_expiration_after_creation check (expiration_date > creation_date)
    )`,
]

const EVENTS = [
  sql`
    create table audit_events (
      event_id uuid primary key,
      event_date timestamptz(3) not null,
      actor text not null,
      action text not null,
      resource text not null,
      outcome text not null,
      request_id text not null,
      client_address text not null default '',
      reason text not null default '',
      -- Null: it is no event audit/omitted.
      omitted_count integer,
      omitted_since timestamptz(3),
      -- Their order (decision 37). An identity, not a sequence of its own, which would need a right of its own.
      epoch integer not null default 0,
      transaction_id xid8 not null default pg_current_xact_id(),
      sequence bigint not null generated by default as identity,
      constraint audit_events_omission_whole
        check ((omitted_count is null) = (omitted_since is null) and omitted_count > 0)
    )`,
  sql`create index audit_events_by_date on audit_events (event_date, event_id)`,
  sql`create index audit_events_of_actor on audit_events (actor, event_date, event_id)`,
  sql`create index audit_events_of_resource on audit_events (resource text_pattern_ops, event_date, event_id)`,
  sql`create index audit_events_in_order on audit_events (epoch, transaction_id, sequence)`,
  sql`
    create table webhooks (
      webhook_id uuid primary key,
      name text not null,
      url text not null,
      ca_certificates text,
      event_types text[] not null,
      resources text[] not null,
      disabled text,
      sealed_secret text not null,
      previous_sealed_secret text,
      previous_expiration_date timestamptz(3),
      creation_date timestamptz(3) not null,
      last_test_date timestamptz(3),
      -- How it goes, JSON. It is no change of the instance.
      delivery text not null,
      constraint webhooks_name_unique unique (name),
      constraint webhooks_url_is_https check (url like 'https://%' and length(url) <= 1000),
      constraint webhooks_disabled_for_a_reason check (disabled in ('by_administrator', 'gone')),
      constraint webhooks_previous_secret_ends check (
        (previous_sealed_secret is null) = (previous_expiration_date is null))
    )`,
]

/** Creates every table, and the rows that there is one of. */
export const initialSchema = [
  ...INSTANCE,
  ...WEB_KEYS,
  ...IDENTITIES,
  ...FEDERATION,
  ...CREDENTIALS,
  ...CONSOLE,
  ...EVENTS,
]
