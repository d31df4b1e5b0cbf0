/**
 * The algorithms of JWTs that prove who a client is: its own assertions and those of trusted issuers. All are asymmetric: a public key is
 * never the secret of an HMAC.
 */

/** All of them, by JWS `alg` (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2): every algorithm of the keys that users can have. */
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
  // The newer name of EdDSA with this curve.
  'Ed25519',
] as const

/** A JWS `alg` that assertions may have. */
export type AssertionAlgorithm = (typeof ASSERTION_ALGORITHMS)[number]

/** Whether a text from outside, such as the `alg` of a header, is one of them. */
export function isAssertionAlgorithm(text: unknown): text is AssertionAlgorithm {
  return ASSERTION_ALGORITHMS.some((algorithm) => algorithm === text)
}
