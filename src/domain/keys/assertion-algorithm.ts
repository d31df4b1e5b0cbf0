/**
 * The algorithms of JWTs that prove who a client is, its own assertions and those of trusted issuers, and which public keys fit them.
 * All are asymmetric: a public key is never the secret of an HMAC.
 */
import type { PublicJwk } from './key-algorithm.ts'

type KeyKind = Pick<PublicJwk, 'kty'> & { readonly crv?: string }

/** Kinds of keys by JWS `alg` (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2). */
const KEY_KINDS = {
  RS256: { kty: 'RSA' },
  RS384: { kty: 'RSA' },
  RS512: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  PS384: { kty: 'RSA' },
  PS512: { kty: 'RSA' },
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  // The newer name of EdDSA with this curve.
  Ed25519: { kty: 'OKP', crv: 'Ed25519' },
} as const satisfies Record<string, KeyKind>

/** A JWS `alg` that assertions may have. */
export type AssertionAlgorithm = keyof typeof KEY_KINDS

/** All of them: every algorithm of the keys that users can have. */
export const ASSERTION_ALGORITHMS = Object.keys(KEY_KINDS) as readonly AssertionAlgorithm[]

/** Whether a text from outside, such as the `alg` of a header, is one of them. */
export function isAssertionAlgorithm(text: unknown): text is AssertionAlgorithm {
  return typeof text === 'string' && Object.hasOwn(KEY_KINDS, text)
}

/** Whether signatures of an algorithm can be verified with a key. False for an unknown algorithm. */
export function fitsAlgorithm(key: PublicJwk, algorithm: string): boolean {
  if (!isAssertionAlgorithm(algorithm)) return false
  const kind: KeyKind = KEY_KINDS[algorithm]
  return key.kty === kind.kty && (key.kty === 'RSA' || key.crv === kind.crv)
}
