/**
 * OAuth errors of refusals (RFC 6749 §5.2, Spec §7).
 */
import { errors } from 'oidc-provider'
import { DomainError } from '../domain/errors.ts'
import type { DeniedToken } from '../domain/identities/token-grant.ts'

/** The error for an authenticated client whose grant is denied. */
export function toOAuthError(denied: DeniedToken): Error {
  switch (denied.reason) {
    case 'wrong_project':
      return new errors.UnauthorizedClient('the service user does not belong to the project that the client_id names')
    case 'grant_not_enabled':
      return new errors.UnauthorizedClient('the client credentials grant is not enabled for the service user')
    case 'binding_required':
      // RFC 9449 §5.2 requires the refusal and names no code for it. `invalid_dpop_proof` would be wrong for clients with certificates.
      return new errors.InvalidRequest(
        'the service user gets bound tokens only: send a proof in the header DPoP, or a client certificate if its tokens are bound to one',
      )
    case 'scope_not_allowed':
      return new errors.InvalidScope('the scope is unknown or the service user has no access to it', denied.scope)
    case 'resource_not_allowed':
      return new errors.InvalidTarget(
        'the resource is unknown or the service user has no access to it',
        denied.resource,
      )
  }
}

/** The body of a 503. */
export const UNAVAILABLE = {
  error: 'temporarily_unavailable',
  error_description: 'the service is not available at the moment',
} as const

const OUTAGES: readonly string[] = ['storage_unavailable', 'primary_unavailable', 'trusted_issuer_unavailable']

/** Whether the database could not be reached. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'storage_unavailable'
}

/** The error of a 503: the same request may succeed later. @param cause For the log. */
export function temporarilyUnavailable(description: string, cause?: unknown): Error {
  const unavailable = new errors.TemporarilyUnavailable(description, { cause })
  return Object.assign(unavailable, { status: 503, statusCode: 503 })
}

/** Maps `storage_unavailable`, `primary_unavailable` and `trusted_issuer_unavailable` to a 503. Other errors pass through, and oidc-provider answers `server_error`. */
export function toUnavailable(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error
  if (!OUTAGES.includes(error.code)) return error
  const description = error.code === 'primary_unavailable' ? error.message : UNAVAILABLE.error_description
  return temporarilyUnavailable(description, error)
}

/** The challenge of a failed authentication, with the text of oidc-provider (RFC 7617 §2). */
export function challengeFor(issuer: string): string {
  const { message, error_description: description } = new errors.InvalidClientAuth('')
  return `Basic realm="${issuer}", error="${message}", error_description="${description}"`
}

/**
 * The body of a 429.
 *
 * It has no `error`: RFC 6749 §5.2 has no code for it, and clients do not retry a 4xx with an `error`. Without it they use the status
 * and `Retry-After` (RFC 6585 §4). `invalid_client` would mean wrong credentials, which were not checked; `slow_down` is for polling
 * (RFC 8628 §3.5). The body of a 503 may have an `error`: clients do not look for it there.
 */
export const TOO_MANY_FAILURES = {
  code: 'too_many_failures',
  message: 'too many failed client authentications: try again later',
}

/** The error of a rate-limited client. Its body is `TOO_MANY_FAILURES`. */
export function toTooManyFailures(): Error {
  const refused = new errors.TemporarilyUnavailable(TOO_MANY_FAILURES.message)
  return Object.assign(refused, { status: 429, statusCode: 429 })
}
