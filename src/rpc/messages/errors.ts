/**
 * The RPC error for each domain error: its kind is the code, and the code of the domain the stable reason.
 *
 * An unexpected error becomes `internal` with the request id and no other detail; the log has the rest.
 */
import { create } from '@bufbuild/protobuf'
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'
import { codeFromString } from '@connectrpc/connect/protocol-connect'
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js'
import { DomainError, type DomainErrorCode, REFUSAL_KINDS, RETRY_AFTER_SECONDS } from '../../domain/errors.ts'
import { DPOP_ALGORITHMS } from '../../domain/identities/token-binding.ts'
import { PROTECTED_RESOURCE_PATH } from '../../domain/identities/token-grant.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { fieldDetails, violationDetails } from './violations.ts'

const DOMAIN = 'keyturn'

/** The longest text in an error, in characters. */
const MAX_TEXT = 200

export function reasonOf(code: DomainErrorCode): string {
  // Whether a key is unknown is no caller's business.
  return code === 'token_key_unknown' ? 'TOKEN_INVALID' : code.toUpperCase()
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
  // The caller went away.
  if (error instanceof Error && error.name === 'AbortError') return ConnectError.from(error)
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
  const code = codeFromString(REFUSAL_KINDS[error.code])
  const headers = headersOf(error, header, baseUrl)
  const info = errorInfo(reasonOf(error.code), error.metadata)
  const details = error.fields.length === 0 ? [] : fieldDetails(error.fields)
  return bounded(new ConnectError(error.message, code, headers, [info, ...details]))
}

/**
 * RFC 9110 §11.6.1 for 401, RFC 6750 §3.1 for 403, RFC 9110 §10.2.3 for 503, RFC 6585 §4 for 429. Where HTTP does not show the status, they
 * are trailers.
 */
function headersOf({ code, metadata }: DomainError, header: Headers, baseUrl: string): Record<string, string> {
  if (metadata.retry_after_seconds !== undefined) return { 'retry-after': metadata.retry_after_seconds }
  switch (REFUSAL_KINDS[code]) {
    case 'unauthenticated':
      return {
        'www-authenticate': challenge(code, header, baseUrl),
        ...(metadata.dpop_nonce === undefined ? {} : { 'dpop-nonce': metadata.dpop_nonce }),
      }
    case 'permission_denied':
      // A session of the console has no token that could have more rights.
      return header.has('authorization') ? { 'www-authenticate': challenge(code, header, baseUrl) } : {}
    case 'unavailable':
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
  const error =
    REFUSAL_KINDS[code] === 'permission_denied' ? 'insufficient_scope' : (DPOP_ERRORS[code] ?? 'invalid_token')
  const isBearer = !isDpop(header) && DPOP_ERRORS[code] === undefined
  return isBearer
    ? `Bearer error="${error}", ${metadata}`
    : `DPoP error="${error}", algs="${DPOP_ALGORITHMS.join(' ')}", ${metadata}`
}
