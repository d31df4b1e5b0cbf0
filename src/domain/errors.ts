/**
 * The refusals of Keyturn, independent of any protocol.
 *
 * Each protocol translates the codes in one table of its own: `rpc/messages/errors.ts` and `oauth/requests/answers.ts`.
 */

/** How long a client should wait when the service cannot answer, in seconds: the same for all protocols. */
export const RETRY_AFTER_SECONDS = 5

export type DomainErrorCode =
  | 'web_key_not_found'
  | 'web_key_active'
  | 'web_key_not_inactive'
  | 'web_key_too_young'
  | 'web_key_limit_reached'
  | 'web_key_private_key_destroyed'
  | 'web_key_cannot_be_opened'
  | 'key_generation_busy'
  | 'rotation_policy_invalid'
  | 'project_not_found'
  | 'project_name_taken'
  | 'project_has_users'
  | 'project_role_not_found'
  | 'project_scope_not_found'
  | 'project_audience_not_found'
  | 'project_audience_taken'
  | 'project_limit_reached'
  | 'scope_reserved'
  | 'audience_reserved'
  | 'user_not_found'
  | 'last_owner'
  | 'person_has_no_credentials'
  | 'client_secret_not_found'
  | 'client_secret_limit_reached'
  | 'client_secret_missing'
  | 'user_key_not_found'
  | 'user_key_limit_reached'
  | 'user_key_invalid'
  | 'personal_access_token_not_found'
  | 'personal_access_token_limit_reached'
  | 'self_service_limit_reached'
  | 'revoked_token_limit_reached'
  | 'token_lifetime_invalid'
  | 'token_claims_invalid'
  | 'trusted_issuer_not_found'
  | 'trusted_issuer_taken'
  | 'trusted_issuer_invalid'
  | 'trusted_issuer_keys_given'
  | 'trusted_issuer_limit_reached'
  | 'trusted_issuer_unavailable'
  | 'federated_identity_not_found'
  | 'federated_identity_limit_reached'
  | 'client_certificate_not_found'
  | 'client_certificate_limit_reached'
  | 'client_certificate_invalid'
  | 'expiration_in_past'
  | 'expiration_too_late'
  | 'sign_in_link_invalid'
  | 'sign_in_by_session'
  | 'sign_in_failed'
  | 'sign_in_not_allowed'
  | 'openid_provider_unavailable'
  | 'console_session_not_found'
  | 'console_session_invalid'
  | 'console_limit_reached'
  | 'configuration_invalid'
  | 'configuration_changed'
  | 'configuration_too_large'
  | 'configuration_label_taken'
  | 'configuration_busy'
  | 'user_name_not_unique'
  | 'token_missing'
  | 'token_invalid'
  | 'token_key_unknown'
  | 'token_bound'
  | 'token_certificate_mismatch'
  | 'dpop_proof_invalid'
  | 'dpop_nonce_required'
  | 'permission_missing'
  | 'permission_not_held'
  | 'too_many_failures'
  | 'audit_position_invalid'
  | 'audit_stream_limit_reached'
  | 'audit_position_unknown'
  | 'webhook_not_found'
  | 'webhook_name_taken'
  | 'webhook_invalid'
  | 'webhook_limit_reached'
  | 'webhook_tests_busy'
  | 'service_switched_off'
  | 'primary_region'
  | 'primary_unavailable'
  | 'change_not_in_force'
  | 'change_outcome_unknown'
  | 'storage_unavailable'

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
