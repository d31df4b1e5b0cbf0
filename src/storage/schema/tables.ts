/** The tables as Kysely sees them; `migrations/` has their SQL. */
import type { ColumnType, Generated } from 'kysely'

/** It may be left out of a new row. */
type Nullable<T> = ColumnType<T | null, T | null | undefined>

export interface Tables {
  migrations: MigrationTable
  instance: InstanceTable
  instance_changes: InstanceChangeTable
  replicas: ReplicaTable
  web_keys: WebKeyTable
  revoked_web_keys: RevokedWebKeyTable
  rotation: RotationTable
  projects: ProjectTable
  project_roles: ProjectRoleTable
  project_scopes: ProjectScopeTable
  project_audiences: ProjectAudienceTable
  service_users: ServiceUserTable
  project_members: ProjectMemberTable
  user_project_roles: UserProjectRoleTable
  user_scopes: UserScopeTable
  credentials: CredentialTable
  revoked_tokens: RevokedTokenTable
  used_assertions: UsedAssertionTable
  trusted_issuers: TrustedIssuerTable
  sign_in_links: SignInLinkTable
  console_sessions: ConsoleSessionTable
  audit_events: AuditEventTable
  webhooks: WebhookTable
}

interface MigrationTable {
  name: string
  run_date: ColumnType<Date, never, never>
}

/** One row: the version of the instance, and the lock of all changes. */
interface InstanceTable {
  id: number
  /** pg reads a bigint as text. */
  version: ColumnType<string, number, number>
  initialised_at: Date | null
  /** Null: no change yet. */
  changed_at: Nullable<Date>
  schema_major: Generated<number>
  /** Null: not initialised yet. */
  sealed_integrity_key: Nullable<string>
  /** Null until the first start of a server that stores it. */
  issuer: ColumnType<string | null, string | undefined>
  /** Of the events that are written from now on (decision 37). */
  audit_epoch: Generated<number>
}

/** One row for each of the last versions (`change-row.ts`). */
interface InstanceChangeTable {
  version: string
  changed_at: Date
  /** Null: any user. */
  user_ids: string[] | null
  project_ids: string[]
}

interface ReplicaTable {
  replica_id: string
  host_name: string
  keyturn_version: string
  start_date: Date
  last_seen_date: Date
  /** pg reads a bigint as text. */
  version: string
  versions_behind: string
  /** Null: it has not learned of a change yet. */
  lag_seconds: number | null
  ready: boolean
  reason: string
}

interface WebKeyTable {
  key_id: string
  algorithm: string
  state: string
  /** JSON. */
  public_jwk: string
  /** Null: destroyed. */
  sealed_private_key: string | null
  creation_date: ColumnType<Date, Date, never>
  /** Null: not seen committed yet, or never initial. */
  publication_date: Nullable<Date>
  activation_date: Date | null
  deactivation_date: Date | null
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

interface RevokedWebKeyTable {
  key_id: string
  algorithm: string
  /** JSON. */
  public_jwk: string
  creation_date: ColumnType<Date, Date, never>
  activation_date: Date | null
  deactivation_date: Date | null
  revocation_date: Date
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

/** One row. */
interface RotationTable {
  id: number
  /** `RotationPolicy`. Written as JSON text, read parsed. */
  policy: ColumnType<unknown, string, string>
  request_date: Date | null
}

export interface ProjectTable {
  project_id: string
  name: string
  roles_claim: Generated<boolean>
  creation_date: ColumnType<Date, Date, never>
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: Nullable<string>
}

interface ProjectRoleTable {
  project_id: string
  role: string
}

interface ProjectScopeTable {
  project_id: string
  scope: string
}

interface ProjectAudienceTable {
  project_id: string
  audience: string
}

export interface ServiceUserTable {
  user_id: string
  project_id: string
  name: string
  enabled: boolean
  creation_date: Date
  instance_roles: Generated<string[]>
  /** `UserSettings`. Written as JSON text, read parsed. */
  settings: ColumnType<unknown, string, string>
  /** Null: no token has been revoked in this way. */
  token_revocation_date: Nullable<Date>
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: Nullable<string>
}

export interface ProjectMemberTable {
  user_id: string
  project_id: string
  role: string
}

interface UserProjectRoleTable {
  user_id: string
  project_id: string
  role: string
}

interface UserScopeTable {
  user_id: string
  project_id: string
  scope: string
}

/** Of all kinds. */
interface CredentialTable {
  credential_id: string
  user_id: string
  kind: string
  creation_date: Date
  expiration_date: Date | null
  /** Of a secret or a token; null: it has content and a MAC. */
  hash: Nullable<Uint8Array>
  deactivation_date: Nullable<Date>
  last_use_date: Nullable<Date>
  /** JSON. */
  content: Nullable<string>
  mac: Nullable<Uint8Array>
  /** Of a federated identity, which is found by them. */
  issuer_id: Nullable<string>
  subject: Nullable<string>
  /** How many days before its expiry that was announced the last time. */
  announced_days: Nullable<number>
}

interface RevokedTokenTable {
  user_id: string
  token_id: string
  expiration_date: Date
}

interface UsedAssertionTable {
  id: string
  expiration_date: Date
}

interface TrustedIssuerTable {
  issuer_id: string
  issuer: string
  /** The rest of it, JSON. */
  content: string
  creation_date: ColumnType<Date, Date, never>
  mac: Uint8Array
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: Nullable<string>
}

interface SignInLinkTable {
  hash: Uint8Array
  user_id: string
  origin: string
  creation_date: Date
  expiration_date: Date
  mac: Uint8Array
}

interface ConsoleSessionTable {
  session_id: string
  hash: Uint8Array
  user_id: string
  origin: string
  client_address: string
  creation_date: Date
  expiration_date: Date
  last_use_date: Date
  mac: Uint8Array
}

interface AuditEventTable {
  event_id: string
  event_date: Date
  actor: string
  action: string
  resource: string
  outcome: string
  request_id: string
  client_address: Generated<string>
  omitted_count: Nullable<number>
  omitted_since: Nullable<Date>
  /** `instance.audit_epoch` at the time. */
  epoch: Generated<number>
  /** The transaction that wrote it. pg reads it as text, like `sequence`. */
  transaction_id: ColumnType<string, never, never>
  sequence: ColumnType<string, never, never>
  reason: Generated<string>
}

interface WebhookTable {
  webhook_id: string
  name: string
  url: string
  /** PEM. */
  ca_certificates: string | null
  event_types: string[]
  resources: string[]
  /** Why. Null: it is not. */
  disabled: string | null
  sealed_secret: string
  previous_sealed_secret: string | null
  previous_expiration_date: Date | null
  last_test_date: Date | null
  creation_date: ColumnType<Date, Date, never>
  /** `Delivery`, JSON. */
  delivery: string
}
