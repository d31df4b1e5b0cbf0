/**
 * What is known to fail at verifiers when the key set gets its first key of a kind. The only place that names them.
 *
 * The kind of a key is its algorithm here: that decides the key type, the curve and the hash. The length of an RSA key is no part
 * of it, because no verifier is known to mind.
 */
import type { KeyAlgorithm } from './key-algorithm.ts'

/**
 * Verifiers that fail with keys of an algorithm whatever they are set to. Each is a clause in printable ASCII without a
 * semicolon, because several go into one header, separated by semicolons.
 */
const KNOWN_FAILURES: Readonly<Record<KeyAlgorithm, readonly string[]>> = {
  RS256: [],
  RS384: [],
  RS512: [],
  ES256: [],
  ES384: [],
  ES512: [
    'once a P-521 key is published, firebase/php-jwt 7 and jsonwebtoken 8 for Rust cannot read the key set, and refuse ' +
      'the tokens of all its keys',
  ],
  EdDSA: [
    'once an Ed25519 key is published, node-jose 2.2 cannot read the key set, and refuses the tokens of all its keys',
    'jsonwebtoken for Node.js, the gem jwt for Ruby, libjwt 1.x, mod_auth_openidc and HAProxy refuse EdDSA, so they ' +
      'refuse the tokens that the key will sign',
  ],
}

/**
 * Warns about a key of a kind that no key of the ring has, which is the one change that can stop a verifier. It is meant for
 * whoever is about to make such a key, or has just done so: nothing is refused for it.
 *
 * @param ring The published keys, without the new one.
 * @returns What to tell, each at most 300 characters of printable ASCII; empty if there is a key of the kind.
 */
export function kindWarnings(
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
