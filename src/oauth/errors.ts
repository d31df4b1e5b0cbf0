/**
 * The OAuth error for each refusal (RFC 6749 §5.2, Spec §7). The only place that translates.
 */
import { errors } from 'oidc-provider'
import { DomainError } from '../domain/errors.ts'
import type { DeniedToken } from '../domain/token-grant.ts'

/** How long a client should wait when the service cannot issue tokens, in seconds. */
export const RETRY_AFTER_SECONDS = 5

/** The error of the token policy, for a client that has proved its secret. */
export function toOAuthError(denied: DeniedToken): Error {
  switch (denied.reason) {
    case 'wrong_project':
      return new errors.UnauthorizedClient('the service user does not belong to the project that the client_id names')
    case 'grant_not_enabled':
      return new errors.UnauthorizedClient('the client credentials grant is not enabled for the service user')
    case 'scope_not_allowed':
      return new errors.InvalidScope('the scope is unknown or the service user has no access to it', denied.scope)
  }
}

/** The answer to a client when something that deciding takes is out of reach. */
export const UNAVAILABLE = {
  error: 'temporarily_unavailable',
  error_description: 'the service cannot issue tokens at the moment',
} as const

/** Whether something that deciding takes is out of reach. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'storage_unavailable'
}

/**
 * The error to answer when something that deciding takes is out of reach; anything else passes through, and the engine
 * answers `server_error`.
 */
export function toUnavailable(error: unknown): unknown {
  if (!isUnavailable(error)) return error
  const unavailable = new errors.TemporarilyUnavailable(UNAVAILABLE.error_description, { cause: error })
  return Object.assign(unavailable, { status: 503, statusCode: 503 })
}

/**
 * The error of a client that may not try to authenticate at the moment.
 *
 * RFC 6749 §5.2 has no code for it. `invalid_client` would say that the credentials are wrong, which nobody has looked
 * at; `slow_down` belongs to clients that poll for a user (RFC 8628 §3.5). `temporarily_unavailable` is registered for
 * overload, and clients that know it try the same request again later, which is right.
 */
export function toTooManyFailures(): Error {
  const refused = new errors.TemporarilyUnavailable('too many failed client authentications: try again later')
  return Object.assign(refused, { status: 429, statusCode: 429 })
}
