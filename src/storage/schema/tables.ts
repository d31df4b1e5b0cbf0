/** The tables as Kysely sees them; `migrations/` has their SQL. */
import type { ColumnType, Generated } from 'kysely'

/** All tables by name. */
export interface Tables {
  instance: InstanceTable
  instance_changes: InstanceChangeTable
  rotation: RotationTable
  web_keys: WebKeyTable
  revoked_web_keys: RevokedWebKeyTable
  projects: ProjectTable
  project_roles: ProjectRoleTable
  project_scopes: ProjectScopeTable
  project_audiences: ProjectAudienceTable
  service_users: ServiceUserTable
  client_secrets: ClientSecretTable
  instance_members: InstanceMemberTable
  user_project_roles: UserProjectRoleTable
  user_scopes: UserScopeTable
  user_keys: UserKeyTable
  personal_access_tokens: PersonalAccessTokenTable
  revoked_tokens: RevokedTokenTable
  trusted_issuers: TrustedIssuerTable
  issuer_keys: IssuerKeyTable
  federated_identities: FederatedIdentityTable
  client_certificates: ClientCertificateTable
  audit_events: AuditEventTable
  used_assertions: UsedAssertionTable
  sign_in_links: SignInLinkTable
  console_sessions: ConsoleSessionTable
  replicas: ReplicaTable
  deprecated_calls: DeprecatedCallTable
  limited_instance_members: InstanceMemberTable
  project_members: ProjectMemberTable
  audit_exports: AuditExportTable
  expiry_notices: ExpiryNoticeTable
  webhooks: WebhookTable
  webhook_deliveries: WebhookDeliveryTable
}

/** One row: the version of the instance, and the lock of all changes. */
interface InstanceTable {
  id: number
  /** pg reads a bigint as text. */
  version: ColumnType<string, number, number>
  initialised_at: Date | null
  changed_at: ColumnType<Date | null, Date | null | undefined>
  /** Null: no change yet. */
  latest_at: ColumnType<Date | null, Date | null | undefined>
  schema_major: Generated<number>
  /** Null: not initialised yet. */
  sealed_integrity_key: ColumnType<string | null, string | null | undefined>
  /** Null until the first start of a server that stores it. */
  issuer: ColumnType<string | null, string | undefined>
  /** Of the events that are written from now on (decision 37). */
  audit_epoch: Generated<number>
  /** Events that are older have no order but that of their dates. */
  audit_ordered_since: ColumnType<Date, Date | undefined>
}

/** One row for each of the last versions (`change-row.ts`). */
interface InstanceChangeTable {
  version: string
  changed_at: Date
  /** Null: any user. */
  user_ids: string[] | null
  project_ids: string[]
}

interface WebKeyTable {
  key_id: string
  algorithm: string
  state: string
  /** Written as JSON text, read parsed. */
  public_jwk: ColumnType<unknown, string, never>
  /** Null: destroyed. */
  sealed_private_key: string | null
  creation_date: ColumnType<Date, Date, never>
  /** Null: not seen committed yet, or never initial. */
  publication_date: ColumnType<Date | null, Date | null | undefined>
  activation_date: Date | null
  deactivation_date: Date | null
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

interface RevokedWebKeyTable {
  key_id: string
  algorithm: string
  /** Written as JSON text, read parsed. */
  public_jwk: ColumnType<unknown, string, never>
  creation_date: ColumnType<Date, Date, never>
  activation_date: Date | null
  deactivation_date: Date | null
  revocation_date: Date
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

/** One row. Times are in seconds. */
interface RotationTable {
  id: number
  enabled: boolean
  kind: string
  bits: number | null
  hasher: string | null
  curve: string | null
  rotation_interval: number
  publish_ahead: number
  retention: number
  rollback_window: number
  keep_standby: boolean
  request_date: Date | null
}

export interface ProjectTable {
  project_id: string
  name: string
  creation_date: ColumnType<Date, Date, never>
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: ColumnType<string | null, string | null | undefined>
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
  client_credentials_enabled: boolean
  bound_tokens_required: ColumnType<boolean, boolean | undefined>
  certificate_bound_tokens: ColumnType<boolean, boolean | undefined>
  creation_date: Date
  /** In seconds. Null: as the instance has it. */
  token_lifetime: ColumnType<number | null, number | null | undefined>
  /** Written as JSON text, read parsed. Null: none. */
  token_claims: ColumnType<unknown, string | null | undefined>
  /** Null: no token has been revoked in this way. */
  token_revocation_date: ColumnType<Date | null, Date | null | undefined>
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: ColumnType<string | null, string | null | undefined>
}

interface ClientSecretTable {
  secret_id: string
  user_id: string
  hash: Uint8Array
  creation_date: Date
  expiration_date: Date | null
  deactivation_date: Date | null
  last_use_date: ColumnType<Date | null, Date | null | undefined>
}

export interface InstanceMemberTable {
  user_id: string
  role: string
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

interface UserKeyTable {
  key_id: string
  user_id: string
  /** Written as JSON text, read parsed. */
  public_jwk: ColumnType<unknown, string, never>
  creation_date: Date
  expiration_date: Date | null
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

interface PersonalAccessTokenTable {
  token_id: string
  user_id: string
  hash: Uint8Array
  creation_date: Date
  expiration_date: Date
}

interface RevokedTokenTable {
  user_id: string
  token_id: string
  expiration_date: Date
}

interface TrustedIssuerTable {
  issuer_id: string
  issuer: string
  /** Written as JSON text, read parsed. */
  keys: ColumnType<unknown, string, string>
  algorithms: string[]
  /** In seconds. */
  max_lifetime: number
  creation_date: ColumnType<Date, Date, never>
  key_source: Generated<string>
  key_url: ColumnType<string | null, string | null | undefined>
  /** PEM. */
  ca_certificates: ColumnType<string | null, string | null | undefined>
  /** In seconds. Null: the keys are given. */
  max_key_staleness: ColumnType<number | null, number | null | undefined>
  mac: Uint8Array
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: ColumnType<string | null, string | null | undefined>
}

/** Keys that were fetched: one row for each issuer whose keys are not given. */
interface IssuerKeyTable {
  issuer_id: string
  /** Written as JSON text, read parsed. */
  keys: ColumnType<unknown, string, string>
  /** Null: none have been fetched. */
  fetch_date: Date | null
  mac: Uint8Array | null
  attempt_date: Date | null
  next_fetch_date: Date
  /** Null: no fetch is under way. */
  lease: string | null
  failure: string | null
  failure_date: Date | null
  failures: number
}

interface FederatedIdentityTable {
  identity_id: string
  user_id: string
  issuer_id: string
  subject: string
  audience: string | null
  /** Written as JSON text, read parsed. */
  claims: ColumnType<unknown, string, never>
  creation_date: Date
  mac: ColumnType<Uint8Array, Uint8Array, never>
}

interface ClientCertificateTable {
  certificate_id: string
  user_id: string
  match: string
  value: string
  creation_date: Date
  expiration_date: Date | null
  mac: ColumnType<Uint8Array, Uint8Array, never>
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
  omitted_count: ColumnType<number | null, number | null | undefined>
  omitted_since: ColumnType<Date | null, Date | null | undefined>
  /** `instance.audit_epoch` at the time. */
  epoch: Generated<number>
  /** The transaction that wrote it. pg reads it as text, like `sequence`. */
  transaction_id: ColumnType<string, never, never>
  sequence: ColumnType<string, never, never>
  reason: Generated<string>
}

interface UsedAssertionTable {
  id: string
  expiration_date: Date
}

interface SignInLinkTable {
  hash: Uint8Array
  user_id: string
  creation_date: Date
  expiration_date: Date
  mac: Uint8Array
}

interface ConsoleSessionTable {
  session_id: string
  hash: Uint8Array
  user_id: string
  client_address: string
  creation_date: Date
  expiration_date: Date
  last_use_date: Date
  mac: Uint8Array
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

interface DeprecatedCallTable {
  user_id: string
  method: string
  /** pg reads a bigint as text. */
  call_count: string
  first_call_date: Date
  last_call_date: Date
}

/** How far audit events were exported. */
interface AuditExportTable {
  name: string
  /** Null: not begun yet. */
  position: string | null
  /** The replica that exports. */
  holder: string | null
  /** The end of its lease. */
  lease_date: Date
}

/** A credential whose expiry was announced, so many days before. */
interface ExpiryNoticeTable {
  credential_id: string
  days: number
  expiration_date: Date
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
}

interface WebhookDeliveryTable {
  webhook_id: string
  position: string
  lease: string | null
  lease_end_date: Date | null
  next_attempt_date: Date | null
  failing_event_id: string | null
  failing_event_date: Date | null
  failures: number
  failing_since_date: Date | null
  rejected_since_date: Date | null
  waiting: number
  last_success_date: Date | null
  last_failure: string | null
  last_failure_date: Date | null
  /** pg reads a bigint as text. */
  given_up: ColumnType<string, number, number>
  expired: ColumnType<string, number | undefined, number>
}
