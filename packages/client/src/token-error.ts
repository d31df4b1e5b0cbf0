/**
 * The one error of a token source.
 */

/**
 * Why there is no token:
 * - `refused`: Keyturn refuses this client or this request, for example `invalid_client` or `invalid_scope`. Repeating it does not help.
 * - `unavailable`: Keyturn could not be reached or could not answer, several times. Try again later.
 * - `unusable`: what answered is not Keyturn, or the private key cannot sign. Correct the configuration.
 */
export type TokenErrorCode = 'refused' | 'unavailable' | 'unusable'

export interface TokenErrorFacts {
  readonly code: TokenErrorCode
  /** The `error` of the response (RFC 6749 §5.2), such as `invalid_client`. */
  readonly oauthError?: string | undefined
  readonly status?: number | undefined
  /** For how long Keyturn asked to be left alone (`Retry-After`). */
  readonly retryAfterMillis?: number | undefined
  readonly cause?: unknown
}

/** There is no access token. The message never has a secret in it. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  readonly code: TokenErrorCode
  readonly oauthError: string | undefined
  readonly status: number | undefined
  readonly retryAfterMillis: number | undefined

  constructor(message: string, { code, oauthError, status, retryAfterMillis, cause }: TokenErrorFacts) {
    super(message, { cause })
    this.code = code
    this.oauthError = oauthError
    this.status = status
    this.retryAfterMillis = retryAfterMillis
  }
}
