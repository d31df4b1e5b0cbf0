/**
 * What makes a client assertion good (`private_key_jwt`, RFC 7523 §3), beyond what the engine checks itself: signature,
 * algorithm, and that the claims are there.
 *
 * Stricter than the RFC where that closes a gap: the audience is the issuer alone, so that an assertion for another
 * server, or for several, is never good here; it lives for an hour at most; and it is used once on all replicas.
 */
import { createHash } from 'node:crypto'
import { errors, type Provider } from 'oidc-provider'
import { isCompactJws } from '../domain/compact-jws.ts'
import type { CredentialUses } from '../domain/ports.ts'
import { toUnavailable } from './errors.ts'

/** Algorithms that assertions may be signed with: all asymmetric ones that keys of users can have. */
export const ASSERTION_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  // The same as EdDSA here; what newer libraries call it (RFC 9864).
  'Ed25519',
] as const

/** How far the clock of a client may be off, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 60

/**
 * The engine looks at the clock of this machine and cannot be given another one. So it is told to tolerate anything, ten
 * years, and the dates are looked at here.
 */
export const ENGINE_TOLERANCE_SECONDS = 10 * 365 * 86_400

/** What `typ` may say, in lower case; it may also be missing (RFC 7523 has no type of its own, its update has the second). */
const TYPES: readonly unknown[] = ['jwt', 'client-authentication+jwt', undefined]

const MAX_LIFETIME_SECONDS = 3600
const MAX_ID_LENGTH = 200

/**
 * Checks the form and the header of an assertion whose signature is good. @throws `invalid_client`.
 *
 * A JWT of another type is no assertion, even one with all the claims of one (RFC 8725 §3.11); a JWT is always encoded (RFC
 * 7797 §7), and no extension is understood here (RFC 7515 §4.1.11).
 */
export function assertAssertionHeader(assertion: unknown, { typ, crit, b64 }: Readonly<Record<string, unknown>>): void {
  if (typeof assertion !== 'string' || !isCompactJws(assertion)) refuse('it must be base64url without padding')
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
  if (!TYPES.includes(type)) refuse('typ must be JWT or client-authentication+jwt, or missing')
  if (crit !== undefined || b64 !== undefined) refuse('crit and b64 must not be there')
}

/** Checks the claims of an assertion whose signature is good. @throws `invalid_client`. */
export function assertAssertionClaims(
  claims: Readonly<Record<string, unknown>>,
  { issuer, now }: { readonly issuer: string; readonly now: Date },
): void {
  const { aud, exp, iat, nbf, jti } = claims
  const seconds = now.getTime() / 1000
  const soon = seconds + CLOCK_TOLERANCE_SECONDS
  if (aud !== issuer) refuse('aud must be the issuer, and nothing but the issuer')
  if (!isBefore(exp, soon + MAX_LIFETIME_SECONDS)) refuse(`exp must be within ${MAX_LIFETIME_SECONDS} seconds`)
  if (isBefore(exp, seconds - CLOCK_TOLERANCE_SECONDS)) refuse('exp must lie in the future')
  if (iat !== undefined && !isBefore(iat, soon)) refuse('iat must not lie in the future')
  if (nbf !== undefined && !isBefore(nbf, soon)) refuse('nbf must not lie in the future')
  if (typeof jti !== 'string' || jti.length > MAX_ID_LENGTH) refuse(`jti has at most ${MAX_ID_LENGTH} characters`)
}

/**
 * Makes the engine use an assertion once on all replicas.
 *
 * The engine's own way looks whether an assertion was used, and then notes it: two requests at once could both pass.
 */
export function useAssertionsOnce(provider: Provider, uses: Pick<CredentialUses, 'useAssertionOnce'>): void {
  provider.ReplayDetection.unique = async (issuer, assertionId, tolerantlyExpiresAtSeconds) => {
    const expiresAtSeconds = tolerantlyExpiresAtSeconds - ENGINE_TOLERANCE_SECONDS + CLOCK_TOLERANCE_SECONDS
    const id = createHash('sha256')
      .update(JSON.stringify([issuer, assertionId]))
      .digest('base64url')
    try {
      return await uses.useAssertionOnce(id, new Date(Math.ceil(expiresAtSeconds) * 1000))
    } catch (error) {
      throw toUnavailable(error)
    }
  }
}

function isBefore(instant: unknown, end: number): boolean {
  return typeof instant === 'number' && instant <= end
}

// The client is told that authentication failed, and nothing of this.
function refuse(detail: string): never {
  throw new errors.InvalidClientAuth(detail)
}
