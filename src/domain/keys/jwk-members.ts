/**
 * The members of a JWK (RFC 7517) by what they reveal.
 */

/** The members of a public key of kty RSA, EC or OKP (RFC 7518 §6, RFC 8037 §2), and those that say how it is used. */
const PUBLIC_MEMBERS = ['kty', 'crv', 'n', 'e', 'x', 'y', 'kid', 'alg', 'use']

/** The members of a private or symmetric key of any registered kty: RSA, EC and oct (RFC 7518 §6), OKP (RFC 8037 §2) and AKP. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/** Whether a JWK is a private or symmetric key. A member counts whatever its value and the kty are. */
export function isSecretJwk(jwk: Readonly<Record<string, unknown>>): boolean {
  return jwk.kty === 'oct' || PRIVATE_MEMBERS.some((member) => Object.hasOwn(jwk, member))
}

/** The JWK without members that are not known to be public. */
export function publicMembersOf(jwk: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(jwk).filter(([member]) => PUBLIC_MEMBERS.includes(member)))
}
