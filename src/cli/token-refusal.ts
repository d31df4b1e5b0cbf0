/**
 * A request for an access token that was refused.
 */
import { printable } from '../domain/printable.ts'

export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal'
  /** The `error` of the response (RFC 6749 §5.2). */
  readonly code: string

  /** @param description The `error_description` of the response. */
  constructor(code: string, description: string) {
    super(`no token: ${printable(code)}: ${printable(description)}`)
    this.code = code
  }
}
