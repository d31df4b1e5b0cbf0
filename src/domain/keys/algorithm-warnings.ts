/**
 * Which verifiers are known to fail when the key set gets its first key of an algorithm. No known verifier depends on the length of an
 * RSA key, the other part of the kind of a key.
 */
import type { KeyAlgorithm } from './key-algorithm.ts'

const AUTHLIB =
  'the token validator of Authlib 1.9 knows RS256 and ES256 only, so it refuses the tokens that the key will sign'

/**
 * Verifiers that fail with keys of an algorithm, whatever their settings. Each text is printable ASCII without a semicolon,
 * because one header has several of them, separated by semicolons.
 */
const KNOWN_FAILURES: Readonly<Record<KeyAlgorithm, readonly string[]>> = {
  RS256: [],
  RS384: [AUTHLIB],
  RS512: [AUTHLIB],
  ES256: [],
  ES384: [AUTHLIB],
  ES512: [
    'once a P-521 key is published, firebase/php-jwt 7 and jsonwebtoken 8 for Rust cannot read the key set, and refuse ' +
      'the tokens of all its keys',
    AUTHLIB,
  ],
  EdDSA: [
    'once an Ed25519 key is published, node-jose 2.2 cannot read the key set, and refuses the tokens of all its keys',
    'jsonwebtoken for Node.js, python-jose 3.5, Authlib 1.9, Spring Security, the gem jwt for Ruby, libjwt 1.x, ' +
      'mod_auth_openidc and HAProxy refuse EdDSA, so they refuse the tokens that the key will sign',
  ],
}

/**
 * Warns about the first key of an algorithm, the one change of the ring that can stop a verifier. Callers show the warnings to the
 * operator who makes such a key, before or after it is made. They refuse nothing.
 *
 * @param ring The published keys, without the new one.
 * @returns The warnings, each at most 300 characters of printable ASCII; empty if the ring has a key of the algorithm.
 */
export function algorithmWarnings(
  algorithm: KeyAlgorithm,
  ring: readonly { readonly algorithm: string }[],
): readonly string[] {
  if (ring.some((key) => key.algorithm === algorithm)) return []
  return [
    `no web key has the algorithm ${algorithm} yet: verifiers that allow only certain algorithms, such as ` +
      '@okta/jwt-verifier and @hapi/jwt, refuse its tokens until it is allowed there, and so does Spring Security, which ' +
      'takes the algorithms from the key set when it starts, until it is restarted',
    ...KNOWN_FAILURES[algorithm],
  ]
}
