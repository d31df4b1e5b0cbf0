/**
 * Keys of the clients that the conformance suite plays.
 */
import { generateKeyPairSync, type JsonWebKey, randomUUID } from 'node:crypto'

/** The signature algorithms of FAPI 2.0 Security Profile §5.4.1, and how their keys are made. */
const KEY_PAIRS = {
  PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}

/** A key for assertions. */
export interface SuiteKey {
  readonly id: string
  readonly algorithm: keyof typeof KEY_PAIRS
  /** With `alg`, so that Keyturn takes no other algorithm from it. */
  readonly publicJwk: JsonWebKey
  readonly privateJwk: JsonWebKey
}

/** Makes a key. */
export function newSuiteKey(algorithm: SuiteKey['algorithm']): SuiteKey {
  const id = randomUUID()
  const { privateKey, publicKey } = KEY_PAIRS[algorithm]()
  const members = { kid: id, alg: algorithm, use: 'sig' }
  return {
    id,
    algorithm,
    publicJwk: { ...publicKey.export({ format: 'jwk' }), ...members },
    privateJwk: { ...privateKey.export({ format: 'jwk' }), ...members },
  }
}
