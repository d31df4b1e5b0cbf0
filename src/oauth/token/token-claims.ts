/**
 * What a grant says in the token: dates, subject, audience, scope and roles (RFC 9068 §2.2).
 */
import type { GrantedToken } from '../../domain/identities/token-grant.ts'

/** The claims that come from a grant. Whoever signs adds those that every token has: `iss`, `client_id` and `jti`. */
export function grantedClaims(
  { subject, audience, scopes, roleClaims }: GrantedToken,
  { now, lifetimeSeconds }: { readonly now: Date; readonly lifetimeSeconds: number },
) {
  const iat = Math.floor(now.getTime() / 1000)
  return { ...roleClaims, iat, exp: iat + lifetimeSeconds, sub: subject, aud: audience, scope: scopes.join(' ') }
}
