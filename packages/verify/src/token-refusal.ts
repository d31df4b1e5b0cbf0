/**
 * Why a request is refused, and how a resource server says so (RFC 6750 §3).
 */

/**
 * - `missing_token` (401): the request has no bearer token. The challenge has no error code (RFC 6750 §3.1).
 * - `invalid_request` (400): the `Authorization` header cannot be read.
 * - `invalid_token` (401): the token is not valid, not any more, or not for this service.
 * - `invalid_dpop_proof` (401): the token is bound to a key, and the request does not prove that it has it (RFC 9449 §7.1).
 * - `insufficient_scope` (403): the token is valid and lacks a required scope or role.
 * - `unavailable` (503): the keys of the issuer cannot be read, so the token can be neither accepted nor refused.
 */
export type RefusalCode =
  | 'missing_token'
  | 'invalid_request'
  | 'invalid_token'
  | 'invalid_dpop_proof'
  | 'insufficient_scope'
  | 'unavailable'

/** What a challenge says besides. None of it has a quotation mark or a backslash. */
export interface ChallengeFacts {
  /** Where the client gets tokens. The realm of the challenge, which must have one parameter at least (RFC 6750 §3). */
  readonly issuer: string
  /** What the client must request, for `insufficient_scope`. */
  readonly scope?: string | undefined
  /** The algorithms of proofs, if the challenge is of the scheme `DPoP`. */
  readonly algs?: readonly string[] | undefined
}

export interface RefusalResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const STATUSES: Readonly<Record<RefusalCode, number>> = {
  missing_token: 401,
  invalid_request: 400,
  invalid_token: 401,
  invalid_dpop_proof: 401,
  insufficient_scope: 403,
  unavailable: 503,
}

/** After which time to try again when the keys cannot be read. */
const RETRY_AFTER_SECONDS = 1

/** A request without a good token. The message is for the client: it says nothing that the client does not know. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal'
  readonly code: RefusalCode
  readonly status: number
  readonly #facts: ChallengeFacts

  constructor(code: RefusalCode, message: string, facts: ChallengeFacts & { readonly cause?: unknown }) {
    super(message, { cause: facts.cause })
    this.code = code
    this.status = STATUSES[code]
    this.#facts = facts
  }

  /** The headers of the response: `WWW-Authenticate`, or `Retry-After` with 503. */
  get headers(): Readonly<Record<string, string>> {
    if (this.code === 'unavailable') return { 'retry-after': String(RETRY_AFTER_SECONDS) }
    return { 'www-authenticate': this.#challenge() }
  }

  toResponse(): RefusalResponse {
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', ...this.headers }
    const error = this.code === 'missing_token' ? {} : { error: this.code }
    return { status: this.status, headers, body: JSON.stringify({ ...error, error_description: this.message }) }
  }

  #challenge(): string {
    const { issuer, scope, algs } = this.#facts
    const parameters = [
      `realm="${issuer}"`,
      ...(this.code === 'missing_token' ? [] : [`error="${this.code}"`, `error_description="${this.message}"`]),
      ...(scope === undefined ? [] : [`scope="${scope}"`]),
      ...(algs === undefined ? [] : [`algs="${algs.join(' ')}"`]),
    ]
    return `${algs === undefined ? 'Bearer' : 'DPoP'} ${parameters.join(', ')}`
  }
}
