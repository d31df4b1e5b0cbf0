/**
 * What a client assertion (`private_key_jwt`, RFC 7523 §3) must be besides what oidc-provider checks: stricter than the RFC, so that an
 * assertion for another server is never accepted here, and it lives for an hour at most.
 *
 * These rules depend on neither keys nor users, so everybody may be told which one is broken, before the signature is verified.
 */
import { isCompactJws } from '../../domain/compact-jws.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../../domain/time.ts'
import { invalidClient } from '../requests/answers.ts'
import { OAUTH_PATHS } from '../requests/endpoints.ts'
import { unverifiedClaims, unverifiedHeader } from '../requests/form.ts'

/** Values of `typ` in lower case. It may be missing: RFC 7523 defines no type; its update defines the second. */
const TYPES: readonly unknown[] = ['jwt', 'client-authentication+jwt', undefined]

const MAX_LIFETIME_SECONDS = 3600
const MAX_ID_LENGTH = 200

/**
 * The accepted audience: the issuer alone and as a text (FAPI 2.0 Security Profile §5.3.2.1), or also the URL of the token endpoint
 * (RFC 7523 §3), which many libraries still send, and a list of one.
 */
export type AssertionAudience = 'issuer' | 'endpoint'

export interface AudienceRules {
  readonly issuer: string
  readonly assertionAudience: AssertionAudience
}

/**
 * A JWT of another type is not an assertion, even with all its claims (RFC 8725 §3.11); a JWT payload is always encoded (RFC 7797 §7); no
 * extension is supported (RFC 7515 §4.1.11).
 *
 * @throws {Refusal} `invalid_client` that says which rule is broken.
 */
export function assertAssertion(jwt: string, now: Date, { issuer, assertionAudience }: AudienceRules): void {
  const [header, claims] = [unverifiedHeader(jwt), unverifiedClaims(jwt)]
  if (!isCompactJws(jwt)) throw invalidClient('the assertion must be base64url without padding')
  if (header === undefined || claims === undefined) throw invalidClient('the assertion must be a JWT')
  const type = typeof header.typ === 'string' ? header.typ.toLowerCase().replace(/^application\//, '') : header.typ
  if (!TYPES.includes(type)) throw invalidClient('typ must be JWT or client-authentication+jwt, or missing')
  if (header.crit !== undefined || header.b64 !== undefined) throw invalidClient('crit and b64 must not be there')

  const { iss, sub, aud, exp, iat, nbf, jti } = claims
  const endpoint = issuer + OAUTH_PATHS.token
  const isLenient = assertionAudience === 'endpoint'
  const audience = isLenient && Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  if (audience !== issuer && !(isLenient && audience === endpoint)) {
    throw invalidClient(
      isLenient
        ? `aud must be the issuer, ${issuer}, or the token endpoint, ${endpoint}, and nothing else`
        : `aud must be the issuer, ${issuer}, as a text and nothing else`,
    )
  }
  if (iss !== sub) throw invalidClient('iss must be the client_id')
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_ID_LENGTH)
    throw invalidClient(`jti must be a text of 1 to ${MAX_ID_LENGTH} characters`)

  const seconds = now.getTime() / 1000
  const soon = seconds + CLOCK_TOLERANCE_SECONDS
  if (typeof exp !== 'number') throw invalidClient('exp must be a number')
  if (exp > soon + MAX_LIFETIME_SECONDS) throw invalidClient(`exp must be at most ${MAX_LIFETIME_SECONDS} seconds away`)
  if (exp <= seconds - CLOCK_TOLERANCE_SECONDS) throw invalidClient('exp must lie in the future')
  assertPast('iat', iat, soon)
  assertPast('nbf', nbf, soon)
}

function assertPast(name: string, instant: unknown, soon: number): void {
  if (instant === undefined) return
  if (typeof instant !== 'number') throw invalidClient(`${name} must be a number`)
  if (instant > soon) throw invalidClient(`${name} must not lie in the future`)
}
