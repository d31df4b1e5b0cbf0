/** The answers of the OAuth endpoints, and the one place where a refusal becomes an answer (RFC 6749 §5.2, Spec §7). */
import type { ServerResponse } from 'node:http'
import { errors } from 'oidc-provider'
import { DomainError, RETRY_AFTER_SECONDS } from '../../domain/errors.ts'
import type { HeaderList } from '../../domain/http-headers.ts'
import type { DeniedToken } from '../../domain/identities/token-grant.ts'
import type { Log } from '../../domain/ports/runtime.ts'

export interface Answer {
  readonly status: number
  /** JSON in ASCII. */
  readonly body: string
  readonly headers?: HeaderList
}

export function answerWith(body: object): Answer {
  return { status: 200, body: inAscii(JSON.stringify(body)) }
}

/** A refusal that oidc-provider has no class for. */
export class Refusal extends errors.OIDCProviderError {
  readonly headers: HeaderList

  constructor(
    status: number,
    code: string,
    {
      description,
      headers = [],
      cause,
    }: { readonly description: string; readonly headers?: HeaderList; readonly cause?: unknown },
  ) {
    super(status, code)
    this.error_description = description
    this.headers = headers
    this.cause = cause
  }
}

/** 503: the same request may succeed later. */
export function unavailable(description = 'the service is not available at the moment', cause?: unknown): Refusal {
  const headers = ['retry-after', String(RETRY_AFTER_SECONDS)]
  return new Refusal(503, 'temporarily_unavailable', { description, headers, cause })
}

/** 401 that says what was wrong, which must depend on neither keys nor users. */
export function invalidClient(description: string): Refusal {
  return new Refusal(401, 'invalid_client', { description })
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

export function tooManyFailures(seconds: number): Refusal {
  const headers = ['retry-after', String(seconds)]
  return new Refusal(429, 'temporarily_unavailable', { description: TOO_MANY_FAILURES.message, headers })
}

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
      return new errors.InvalidTarget('the resource is unknown or the service user has no access to it')
  }
}

/** A refusal as an answer, with the error code for the log, and what exactly was wrong with the credential. */
export interface RefusalAnswer extends Answer {
  readonly code: string
  readonly detail?: string
}

/** The answer to a request that failed. An unexpected error is logged. */
export function toAnswer(
  error: unknown,
  { issuer, log }: { readonly issuer: string; readonly log: Log },
): RefusalAnswer {
  const refusal = error instanceof DomainError ? fromDomainError(error) : error
  if (!(refusal instanceof errors.OIDCProviderError)) {
    log.error({ err: error }, 'a request of a client failed')
    const body = { error: 'server_error', error_description: 'the server failed' }
    return { status: 500, code: 'server_error', body: JSON.stringify(body) }
  }
  const { status, error: code, error_description } = refusal
  const scope = 'scope' in refusal ? { scope: refusal.scope } : {}
  const headers = [
    ...(status === 401 ? ['www-authenticate', challenge(issuer, refusal)] : []),
    ...(refusal instanceof Refusal ? refusal.headers : []),
  ]
  const body = status === 429 ? TOO_MANY_FAILURES : { error: code, error_description, ...scope }
  const detail = status === 401 && refusal instanceof Refusal ? { detail: error_description ?? '' } : {}
  return { status, code, headers, body: inAscii(JSON.stringify(body)), ...detail }
}

/** The request may be repeated: each of them goes away, except that a standby leaves revocations to its primary (RFC 7009 §2.2.1). */
const TEMPORARY: readonly string[] = [
  'primary_unavailable',
  'trusted_issuer_unavailable',
  'revoked_token_limit_reached',
  'primary_region',
  'change_outcome_unknown',
  'change_not_in_force',
]

function fromDomainError(error: DomainError): unknown {
  const { code, message, metadata } = error
  if (code === 'storage_unavailable') return unavailable(undefined, error)
  if (TEMPORARY.includes(code)) return unavailable(message, error)
  if (code === 'token_invalid') return new errors.InvalidClientAuth(message)
  // RFC 6749 §5.2 allows no quotation marks in a description.
  if (code === 'dpop_proof_invalid') return new errors.InvalidDpopProof(message.replaceAll('"', "'"))
  if (code !== 'dpop_nonce_required') return error
  const headers = ['dpop-nonce', metadata.dpop_nonce ?? '']
  return new Refusal(400, 'use_dpop_nonce', { description: message, headers })
}

/** Every 401 must have a challenge (RFC 9110 §15.5.2). */
function challenge(issuer: string, { error, error_description: description }: errors.OIDCProviderError): string {
  return `Basic realm="${issuer}", error="${error}", error_description="${description}"`
}

/** RFC 6749 §5.1. */
const NOT_CACHED: HeaderList = ['pragma', 'no-cache', 'cache-control', 'no-store']
const JSON_CONTENT: HeaderList = ['content-type', 'application/json; charset=utf-8']

/** Sends an answer, as a text, which goes out in one write with the headers. */
export function send(res: ServerResponse, { status, body, headers = [] }: Answer, common: HeaderList): void {
  const length = ['content-length', String(body.length)]
  res.writeHead(status, [...common, ...NOT_CACHED, ...JSON_CONTENT, ...headers, ...length]).end(body, 'latin1')
}

/** The same JSON without characters beyond ASCII, which may be in what a client sent. */
function inAscii(json: string): string {
  return json.replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
