/**
 * The refusals of Keyturn, independent of any protocol.
 *
 * Each protocol translates them in one place of its own: `rpc/messages/errors.ts` and `oauth/requests/answers.ts`.
 */

/** How long a client should wait when the service cannot answer, in seconds: the same for all protocols. */
export const RETRY_AFTER_SECONDS = 5

/** The kind of each refusal, by its code. The kinds are those of gRPC. */
export const REFUSAL_KINDS = {
  web_key_not_found: 'not_found',
  web_key_active: 'failed_precondition',
  web_key_not_inactive: 'failed_precondition',
  web_key_too_young: 'failed_precondition',
  web_key_limit_reached: 'resource_exhausted',
  web_key_private_key_destroyed: 'failed_precondition',
  web_key_cannot_be_opened: 'failed_precondition',
  key_generation_busy: 'resource_exhausted',
  rotation_policy_invalid: 'invalid_argument',
  project_not_found: 'not_found',
  project_name_taken: 'already_exists',
  project_has_users: 'failed_precondition',
  project_role_not_found: 'not_found',
  project_scope_not_found: 'not_found',
  project_audience_not_found: 'not_found',
  project_audience_taken: 'already_exists',
  project_limit_reached: 'resource_exhausted',
  scope_reserved: 'invalid_argument',
  audience_reserved: 'invalid_argument',
  user_not_found: 'not_found',
  last_owner: 'failed_precondition',
  person_has_no_credentials: 'failed_precondition',
  client_secret_not_found: 'not_found',
  client_secret_limit_reached: 'resource_exhausted',
  client_secret_missing: 'failed_precondition',
  user_key_not_found: 'not_found',
  user_key_limit_reached: 'resource_exhausted',
  user_key_invalid: 'invalid_argument',
  personal_access_token_not_found: 'not_found',
  personal_access_token_limit_reached: 'resource_exhausted',
  self_service_limit_reached: 'resource_exhausted',
  revoked_token_limit_reached: 'resource_exhausted',
  token_lifetime_invalid: 'invalid_argument',
  token_claims_invalid: 'invalid_argument',
  trusted_issuer_not_found: 'not_found',
  trusted_issuer_taken: 'already_exists',
  trusted_issuer_invalid: 'invalid_argument',
  trusted_issuer_keys_given: 'failed_precondition',
  trusted_issuer_limit_reached: 'resource_exhausted',
  trusted_issuer_unavailable: 'unavailable',
  federated_identity_not_found: 'not_found',
  federated_identity_limit_reached: 'resource_exhausted',
  client_certificate_not_found: 'not_found',
  client_certificate_limit_reached: 'resource_exhausted',
  client_certificate_invalid: 'invalid_argument',
  expiration_in_past: 'invalid_argument',
  expiration_too_late: 'invalid_argument',
  sign_in_link_invalid: 'unauthenticated',
  sign_in_by_session: 'permission_denied',
  sign_in_failed: 'unauthenticated',
  sign_in_not_allowed: 'permission_denied',
  openid_provider_unavailable: 'unavailable',
  console_session_not_found: 'not_found',
  console_session_invalid: 'unauthenticated',
  console_limit_reached: 'resource_exhausted',
  configuration_invalid: 'invalid_argument',
  configuration_changed: 'aborted',
  configuration_too_large: 'resource_exhausted',
  configuration_label_taken: 'failed_precondition',
  configuration_busy: 'resource_exhausted',
  user_name_not_unique: 'failed_precondition',
  token_missing: 'unauthenticated',
  token_invalid: 'unauthenticated',
  token_key_unknown: 'unauthenticated',
  token_bound: 'unauthenticated',
  token_certificate_mismatch: 'unauthenticated',
  dpop_proof_invalid: 'unauthenticated',
  dpop_nonce_required: 'unauthenticated',
  permission_missing: 'permission_denied',
  permission_not_held: 'permission_denied',
  too_many_failures: 'resource_exhausted',
  audit_position_invalid: 'invalid_argument',
  audit_stream_limit_reached: 'resource_exhausted',
  audit_position_unknown: 'out_of_range',
  webhook_not_found: 'not_found',
  webhook_name_taken: 'already_exists',
  webhook_invalid: 'invalid_argument',
  webhook_limit_reached: 'resource_exhausted',
  webhook_tests_busy: 'resource_exhausted',
  service_switched_off: 'unimplemented',
  primary_region: 'failed_precondition',
  primary_unavailable: 'unavailable',
  change_not_in_force: 'unavailable',
  // Not `unavailable`: clients retry that automatically, and a stored change would be made twice.
  change_outcome_unknown: 'unknown',
  storage_unavailable: 'unavailable',
} as const

export type DomainErrorCode = keyof typeof REFUSAL_KINDS

/** A command that was refused. Its message and metadata are safe to show to the caller. */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly code: DomainErrorCode
  /** Facts that a program can act on, for example the time from which the command is allowed. */
  readonly metadata: Readonly<Record<string, string>>
  /** Replaces the message in the log and in `/readyz`, which the operator of this server reads. */
  readonly forOperator: string | undefined
  /** The fields of the request that are wrong, if it has several. */
  readonly fields: readonly RefusedField[]

  constructor(code: DomainErrorCode, message: string, options: DomainErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.metadata = options.metadata ?? {}
    this.forOperator = options.forOperator
    this.fields = options.fields ?? []
  }
}

export interface RefusedField {
  readonly path: string
  readonly message: string
}

interface DomainErrorOptions {
  readonly metadata?: Readonly<Record<string, string>>
  readonly forOperator?: string
  readonly fields?: readonly RefusedField[]
  readonly cause?: unknown
}

/**
 * The refusal of a change by a replica whose database is a standby.
 *
 * @param url Where the primary region is. Null: it is not configured, and the database may be a former primary whose connections have not
 * been moved to the new one yet, so that the change may be tried again.
 */
export function onStandby(url: string | null): DomainError {
  if (url === null) {
    return new DomainError(
      'storage_unavailable',
      'the database is a standby, which takes no changes: try again later, or at a server of the primary region',
    )
  }
  return new DomainError('primary_region', `this region serves tokens and reads: send changes to ${url}`, {
    metadata: { primary_url: url },
  })
}

export function databaseBusy(): DomainError {
  return new DomainError('storage_unavailable', 'too many requests are waiting for the database: try again later')
}

/** Whether the database could not make a change or a read, or not confirm it. Nothing was decided against it, so it may be tried again. */
export function isOutage(error: unknown): error is DomainError {
  return (
    error instanceof DomainError &&
    (error.code === 'storage_unavailable' ||
      error.code === 'primary_unavailable' ||
      error.code === 'change_outcome_unknown')
  )
}

/** The database can be reached and refuses: its rights or its schema were changed, or it is damaged. */
export class StorageRefusal extends DomainError {
  constructor(meaning: string, cause: unknown) {
    super('storage_unavailable', `the database refuses: ${meaning}`, { cause })
  }
}

/** What the row should be. Few, because each is the value of a metric's label. */
export type RowKind =
  | 'console_session'
  | 'revoked_web_key'
  | 'rotation'
  | 'service_user'
  | 'sign_in_link'
  | 'trusted_issuer'
  | 'web_key'
  | 'webhook'

/** The message says which row it is and what is wrong with it, and nothing that is secret. */
export class UnreadableRow extends Error {
  override readonly name = 'UnreadableRow'
  readonly kind: RowKind
  /** The primary key of the row; empty if there is only one of the kind. */
  readonly id: string

  constructor(row: { readonly kind: RowKind; readonly id: string }, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = row.kind
    this.id = row.id
  }
}

/** What was thrown, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
