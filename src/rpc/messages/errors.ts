/**
 * The RPC error for each domain error, with its stable reason.
 *
 * An unexpected error becomes `internal` with the request id and no other detail; the log has the rest.
 */
import { create } from '@bufbuild/protobuf'
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js'
import { DomainError, type DomainErrorCode, RETRY_AFTER_SECONDS } from '../../domain/errors.ts'
import { DPOP_ALGORITHMS } from '../../domain/identities/token-binding.ts'
import { PROTECTED_RESOURCE_PATH } from '../../domain/identities/token-grant.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { fieldDetails, violationDetails } from './violations.ts'

const DOMAIN = 'keyturn'

/** The longest text in an error, in characters. */
const MAX_TEXT = 200

const WIRE = {
  web_key_not_found: [Code.NotFound, 'WEB_KEY_NOT_FOUND'],
  web_key_active: [Code.FailedPrecondition, 'WEB_KEY_ACTIVE'],
  web_key_not_inactive: [Code.FailedPrecondition, 'WEB_KEY_NOT_INACTIVE'],
  web_key_too_young: [Code.FailedPrecondition, 'WEB_KEY_TOO_YOUNG'],
  web_key_limit_reached: [Code.ResourceExhausted, 'WEB_KEY_LIMIT_REACHED'],
  web_key_private_key_destroyed: [Code.FailedPrecondition, 'WEB_KEY_PRIVATE_KEY_DESTROYED'],
  web_key_cannot_be_opened: [Code.FailedPrecondition, 'WEB_KEY_CANNOT_BE_OPENED'],
  rotation_policy_invalid: [Code.InvalidArgument, 'ROTATION_POLICY_INVALID'],
  key_generation_busy: [Code.ResourceExhausted, 'KEY_GENERATION_BUSY'],
  project_not_found: [Code.NotFound, 'PROJECT_NOT_FOUND'],
  project_name_taken: [Code.AlreadyExists, 'PROJECT_NAME_TAKEN'],
  project_has_users: [Code.FailedPrecondition, 'PROJECT_HAS_USERS'],
  project_role_not_found: [Code.NotFound, 'PROJECT_ROLE_NOT_FOUND'],
  project_scope_not_found: [Code.NotFound, 'PROJECT_SCOPE_NOT_FOUND'],
  project_audience_not_found: [Code.NotFound, 'PROJECT_AUDIENCE_NOT_FOUND'],
  project_audience_taken: [Code.AlreadyExists, 'PROJECT_AUDIENCE_TAKEN'],
  project_limit_reached: [Code.ResourceExhausted, 'PROJECT_LIMIT_REACHED'],
  scope_reserved: [Code.InvalidArgument, 'SCOPE_RESERVED'],
  audience_reserved: [Code.InvalidArgument, 'AUDIENCE_RESERVED'],
  user_not_found: [Code.NotFound, 'USER_NOT_FOUND'],
  last_owner: [Code.FailedPrecondition, 'LAST_OWNER'],
  person_has_no_credentials: [Code.FailedPrecondition, 'PERSON_HAS_NO_CREDENTIALS'],
  client_secret_not_found: [Code.NotFound, 'CLIENT_SECRET_NOT_FOUND'],
  client_secret_missing: [Code.FailedPrecondition, 'CLIENT_SECRET_MISSING'],
  client_secret_limit_reached: [Code.ResourceExhausted, 'CLIENT_SECRET_LIMIT_REACHED'],
  user_key_not_found: [Code.NotFound, 'USER_KEY_NOT_FOUND'],
  user_key_limit_reached: [Code.ResourceExhausted, 'USER_KEY_LIMIT_REACHED'],
  user_key_invalid: [Code.InvalidArgument, 'USER_KEY_INVALID'],
  personal_access_token_not_found: [Code.NotFound, 'PERSONAL_ACCESS_TOKEN_NOT_FOUND'],
  personal_access_token_limit_reached: [Code.ResourceExhausted, 'PERSONAL_ACCESS_TOKEN_LIMIT_REACHED'],
  self_service_limit_reached: [Code.ResourceExhausted, 'SELF_SERVICE_LIMIT_REACHED'],
  revoked_token_limit_reached: [Code.ResourceExhausted, 'REVOKED_TOKEN_LIMIT_REACHED'],
  token_lifetime_invalid: [Code.InvalidArgument, 'TOKEN_LIFETIME_INVALID'],
  token_claims_invalid: [Code.InvalidArgument, 'TOKEN_CLAIMS_INVALID'],
  trusted_issuer_not_found: [Code.NotFound, 'TRUSTED_ISSUER_NOT_FOUND'],
  trusted_issuer_taken: [Code.AlreadyExists, 'TRUSTED_ISSUER_TAKEN'],
  trusted_issuer_invalid: [Code.InvalidArgument, 'TRUSTED_ISSUER_INVALID'],
  trusted_issuer_keys_given: [Code.FailedPrecondition, 'TRUSTED_ISSUER_KEYS_GIVEN'],
  trusted_issuer_limit_reached: [Code.ResourceExhausted, 'TRUSTED_ISSUER_LIMIT_REACHED'],
  trusted_issuer_unavailable: [Code.Unavailable, 'TRUSTED_ISSUER_UNAVAILABLE'],
  federated_identity_not_found: [Code.NotFound, 'FEDERATED_IDENTITY_NOT_FOUND'],
  federated_identity_limit_reached: [Code.ResourceExhausted, 'FEDERATED_IDENTITY_LIMIT_REACHED'],
  client_certificate_not_found: [Code.NotFound, 'CLIENT_CERTIFICATE_NOT_FOUND'],
  client_certificate_limit_reached: [Code.ResourceExhausted, 'CLIENT_CERTIFICATE_LIMIT_REACHED'],
  client_certificate_invalid: [Code.InvalidArgument, 'CLIENT_CERTIFICATE_INVALID'],
  expiration_in_past: [Code.InvalidArgument, 'EXPIRATION_IN_PAST'],
  expiration_too_late: [Code.InvalidArgument, 'EXPIRATION_TOO_LATE'],
  sign_in_link_invalid: [Code.Unauthenticated, 'SIGN_IN_LINK_INVALID'],
  sign_in_by_session: [Code.PermissionDenied, 'SIGN_IN_BY_SESSION'],
  sign_in_failed: [Code.Unauthenticated, 'SIGN_IN_FAILED'],
  sign_in_not_allowed: [Code.PermissionDenied, 'SIGN_IN_NOT_ALLOWED'],
  openid_provider_unavailable: [Code.Unavailable, 'OPENID_PROVIDER_UNAVAILABLE'],
  console_session_not_found: [Code.NotFound, 'CONSOLE_SESSION_NOT_FOUND'],
  console_session_invalid: [Code.Unauthenticated, 'CONSOLE_SESSION_INVALID'],
  console_limit_reached: [Code.ResourceExhausted, 'CONSOLE_LIMIT_REACHED'],
  audit_stream_limit_reached: [Code.ResourceExhausted, 'AUDIT_STREAM_LIMIT_REACHED'],
  audit_position_invalid: [Code.InvalidArgument, 'AUDIT_POSITION_INVALID'],
  audit_position_unknown: [Code.OutOfRange, 'AUDIT_POSITION_UNKNOWN'],
  webhook_not_found: [Code.NotFound, 'WEBHOOK_NOT_FOUND'],
  webhook_name_taken: [Code.AlreadyExists, 'WEBHOOK_NAME_TAKEN'],
  webhook_invalid: [Code.InvalidArgument, 'WEBHOOK_INVALID'],
  webhook_limit_reached: [Code.ResourceExhausted, 'WEBHOOK_LIMIT_REACHED'],
  webhook_tests_busy: [Code.ResourceExhausted, 'WEBHOOK_TESTS_BUSY'],
  configuration_invalid: [Code.InvalidArgument, 'CONFIGURATION_INVALID'],
  configuration_changed: [Code.Aborted, 'CONFIGURATION_CHANGED'],
  configuration_too_large: [Code.ResourceExhausted, 'CONFIGURATION_TOO_LARGE'],
  configuration_label_taken: [Code.FailedPrecondition, 'CONFIGURATION_LABEL_TAKEN'],
  configuration_busy: [Code.ResourceExhausted, 'CONFIGURATION_BUSY'],
  user_name_not_unique: [Code.FailedPrecondition, 'USER_NAME_NOT_UNIQUE'],
  token_missing: [Code.Unauthenticated, 'TOKEN_MISSING'],
  token_invalid: [Code.Unauthenticated, 'TOKEN_INVALID'],
  token_key_unknown: [Code.Unauthenticated, 'TOKEN_INVALID'],
  token_bound: [Code.Unauthenticated, 'TOKEN_BOUND'],
  token_certificate_mismatch: [Code.Unauthenticated, 'TOKEN_CERTIFICATE_MISMATCH'],
  dpop_proof_invalid: [Code.Unauthenticated, 'DPOP_PROOF_INVALID'],
  dpop_nonce_required: [Code.Unauthenticated, 'DPOP_NONCE_REQUIRED'],
  permission_missing: [Code.PermissionDenied, 'PERMISSION_MISSING'],
  permission_not_held: [Code.PermissionDenied, 'PERMISSION_NOT_HELD'],
  too_many_failures: [Code.ResourceExhausted, 'TOO_MANY_FAILURES'],
  service_switched_off: [Code.Unimplemented, 'SERVICE_SWITCHED_OFF'],
  primary_region: [Code.FailedPrecondition, 'PRIMARY_REGION'],
  primary_unavailable: [Code.Unavailable, 'PRIMARY_UNAVAILABLE'],
  change_not_in_force: [Code.Unavailable, 'CHANGE_NOT_IN_FORCE'],
  // Not `unavailable`: clients retry that automatically, and a stored change would be made twice.
  change_outcome_unknown: [Code.Unknown, 'CHANGE_OUTCOME_UNKNOWN'],
  storage_unavailable: [Code.Unavailable, 'STORAGE_UNAVAILABLE'],
} as const satisfies Record<DomainErrorCode, readonly [Code, string]>

export function reasonOf(code: DomainErrorCode): string {
  return WIRE[code][1]
}

/** What errors are made with. */
export interface ErrorOptions {
  readonly log: Log
  readonly baseUrl: string
}

/** The error to send. An unexpected one is logged. */
export function toConnectError(error: unknown, header: Headers, { log, baseUrl }: ErrorOptions): ConnectError {
  if (error instanceof DomainError) return fromDomainError(error, header, baseUrl)
  if (error instanceof ConnectError)
    return error.code === Code.InvalidArgument ? invalidArgument(error) : bounded(error)
  const requestId = requestIdOf(header)
  log.error({ err: error, requestId }, 'an RPC failed')
  return new ConnectError(`internal error, request id ${requestId}`, Code.Internal)
}

/** The id of the request, as in its response header and in the log: the HTTP listener sets the header. */
export function requestIdOf(header: Headers): string {
  return header.get('x-request-id') ?? 'unknown'
}

/** Adds the reason to an error about the request, next to the violations if it has any. */
export function invalidArgument(error: ConnectError): ConnectError {
  const refusal = bounded(error)
  refusal.details.push(errorInfo('INVALID_ARGUMENT', {}))
  return refusal
}

/**
 * The same error, with its texts and violations shortened to fit into the trailers of gRPC: texts may quote the request, and
 * trailers that are too long end an HTTP/2 session.
 */
function bounded({ rawMessage, code, metadata, details }: ConnectError): ConnectError {
  const error = new ConnectError(shortened(rawMessage), code, metadata)
  error.details = details.flatMap((detail) =>
    'desc' in detail && detail.desc.typeName === ViolationsSchema.typeName
      ? violationDetails(create(ViolationsSchema, detail.value))
      : detail,
  )
  return error
}

/** The error while the service is unavailable, with the time after which to try again (RFC 9110 §10.2.3). */
export function unavailable(message: string): ConnectError {
  return new ConnectError(message, Code.Unavailable, { 'retry-after': String(RETRY_AFTER_SECONDS) })
}

function shortened(text: string): string {
  const start = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  // A lone surrogate cannot be sent.
  return start.toWellFormed()
}

function fromDomainError(error: DomainError, header: Headers, baseUrl: string): ConnectError {
  const [code, reason] = WIRE[error.code]
  const headers = headersOf(error, header, baseUrl)
  const details = error.fields.length === 0 ? [] : fieldDetails(error.fields)
  return bounded(new ConnectError(error.message, code, headers, [errorInfo(reason, error.metadata), ...details]))
}

/**
 * RFC 9110 §11.6.1 for 401, RFC 6750 §3.1 for 403, RFC 9110 §10.2.3 for 503, RFC 6585 §4 for 429. Where HTTP does not show the status, they
 * are trailers.
 */
function headersOf({ code, metadata }: DomainError, header: Headers, baseUrl: string): Record<string, string> {
  if (metadata.retry_after_seconds !== undefined) return { 'retry-after': metadata.retry_after_seconds }
  switch (WIRE[code][0]) {
    case Code.Unauthenticated:
      return {
        'www-authenticate': challenge(code, header, baseUrl),
        ...(metadata.dpop_nonce === undefined ? {} : { 'dpop-nonce': metadata.dpop_nonce }),
      }
    case Code.PermissionDenied:
      // A session of the console has no token that could have more rights.
      return header.has('authorization') ? { 'www-authenticate': challenge(code, header, baseUrl) } : {}
    case Code.Unavailable:
      // A repeated call is another change.
      return code === 'change_not_in_force' ? {} : { 'retry-after': String(RETRY_AFTER_SECONDS) }
    default:
      return {}
  }
}

function errorInfo(reason: string, facts: Readonly<Record<string, string>>) {
  const metadata = Object.fromEntries(Object.entries(facts).map(([name, text]) => [name, shortened(text)]))
  return { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: DOMAIN, metadata }) }
}

/** Whether the client has sent a token of the scheme `DPoP`. */
function isDpop(header: Headers): boolean {
  return /^DPoP\b/i.test(header.get('authorization') ?? '')
}

/** RFC 9449 §7.1 and §9. */
const DPOP_ERRORS: Partial<Record<DomainErrorCode, string>> = {
  token_bound: 'invalid_token',
  dpop_proof_invalid: 'invalid_dpop_proof',
  dpop_nonce_required: 'use_dpop_nonce',
}

/** A 401 must have a challenge (RFC 9110 §15.5.2), and no scheme is registered for cookies. No browser asks for a password for it. */
const CONSOLE_CHALLENGE = 'Cookie cookie-name="keyturn_console"'

/** RFC 6750 §3.1, without an error code for a request without a token; RFC 9449 §7.1; RFC 9728 §5.1. */
function challenge(code: DomainErrorCode, header: Headers, baseUrl: string): string {
  if (code === 'console_session_invalid' || code.startsWith('sign_in_')) return CONSOLE_CHALLENGE
  const metadata = `resource_metadata="${baseUrl}${PROTECTED_RESOURCE_PATH}"`
  if (code === 'token_missing') return `Bearer ${metadata}`
  const error = WIRE[code][0] === Code.PermissionDenied ? 'insufficient_scope' : (DPOP_ERRORS[code] ?? 'invalid_token')
  const isBearer = !isDpop(header) && DPOP_ERRORS[code] === undefined
  return isBearer
    ? `Bearer error="${error}", ${metadata}`
    : `DPoP error="${error}", algs="${DPOP_ALGORITHMS.join(' ')}", ${metadata}`
}
