/**
 * Reads public keys of clients: those that service users prove themselves with (RFC 7523), a JWK or a JWK Set (RFC 7517), and the JWK in a
 * DPoP proof (RFC 9449).
 *
 * No message repeats the input, because a private key that was sent by mistake must not reach a log.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { DomainError } from '../domain/errors.ts'
import type { UserKey } from '../domain/identities/credential.ts'
import { isSecretJwk } from '../domain/keys/jwk-members.ts'
import type { PublicJwk } from '../domain/keys/key-algorithm.ts'

type UserJwk = UserKey['publicJwk']
type Members = Readonly<Record<string, unknown>>

const MAX_KEYS = 10
const MAX_KEY_ID_LENGTH = 200
const MIN_RSA_BITS = 2048
/** Verifying with a longer one would cost too much. */
const MAX_RSA_BITS = 8192
const MAX_RSA_EXPONENT = 2n ** 32n

/** The values of `alg` that fit a key, by its curve or type. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
}

/**
 * The keys of a JWK or a JWK Set, with the members that their thumbprints cover, `kid` and `alg`, and no others.
 *
 * RSA with 2048 to 8192 bits, P-256, P-384, P-521 and Ed25519. At most 10.
 *
 * @throws {DomainError} `user_key_invalid` that says which key is wrong and why.
 */
export function parseUserKeys(json: string): readonly UserJwk[] {
  return readUserKeys(parseJson(json))
}

/** The same for JSON that has been parsed. */
export function readUserKeys(document: unknown): readonly UserJwk[] {
  if (!isObject(document)) refuse('it must be a JWK or a JWK Set: a JSON object')
  const isSet = document.keys !== undefined
  if (isSet && !Array.isArray(document.keys)) refuse('"keys" must be an array of JWKs')
  const entries: readonly unknown[] = Array.isArray(document.keys) ? document.keys : [document]
  if (entries.length === 0) refuse('the JWK Set is empty: put at least one public key into it')
  if (entries.length > MAX_KEYS) refuse(`the JWK Set has more than ${MAX_KEYS} keys`)

  const keys = entries.map((entry, i) => parsePublicJwk(entry, isSet ? `key ${i + 1}` : 'the key'))
  assertDifferent(keys.map(({ kid: _kid, alg: _alg, ...key }) => JSON.stringify(key)))
  assertDifferent(keys.flatMap(({ kid }) => (kid === undefined ? [] : [kid])))
  return keys
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    // The error of the parser quotes the text.
    return refuse('it must be a JWK or a JWK Set, and is no JSON')
  }
}

/**
 * One public key, by the rules of `parseUserKeys`.
 *
 * @param name What messages call it.
 * @throws {DomainError} `user_key_invalid`.
 */
export function parsePublicJwk(entry: unknown, name: string): UserJwk {
  if (!isObject(entry)) refuse(`${name} must be a JWK: a JSON object with "kty"`)
  if (isSecretJwk(entry)) {
    refuse(`${name} is a private or symmetric key: send the public half only, and replace this key, it has been shown`)
  }
  if (entry.use !== undefined && entry.use !== 'sig') refuse(`${name} is not for signatures: its "use" must be "sig"`)

  const key = toKeyObject(entry, name)
  // With its members in their one canonical spelling.
  const jwk = key.export({ format: 'jwk' })
  const algorithms = ALGORITHMS[jwk.crv ?? jwk.kty ?? '']
  if (algorithms === undefined) refuse(`${name} has a curve that is not supported: use P-256, P-384, P-521 or Ed25519`)
  if (jwk.kty === 'RSA') assertRsaParameters(key, name)
  const kid = textMember(entry, 'kid', name)
  const alg = textMember(entry, 'alg', name)
  if (alg !== undefined && !algorithms.includes(alg)) {
    refuse(`the "alg" of ${name} does not fit it: leave it out, or use ${algorithms.join(', ')}`)
  }
  return { ...(jwk as PublicJwk), ...(kid === undefined ? {} : { kid }), ...(alg === undefined ? {} : { alg }) }
}

function toKeyObject({ kty, crv, n, e, x, y }: Members, name: string): KeyObject {
  try {
    // Only these members are parsed, so that another member cannot change the key.
    return createPublicKey({ key: JSON.parse(JSON.stringify({ kty, crv, n, e, x, y })), format: 'jwk' })
  } catch {
    return refuse(`${name} is no valid public key of kty RSA, EC (P-256, P-384, P-521) or OKP (Ed25519)`)
  }
}

function assertRsaParameters(key: KeyObject, name: string): void {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS) {
    refuse(`${name} must have ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits`)
  }
  // With an exponent of 1 every text is its own signature.
  if (publicExponent < 3n || publicExponent > MAX_RSA_EXPONENT || publicExponent % 2n === 0n) {
    refuse(`${name} has a public exponent that is not usable: use 65537 ("AQAB")`)
  }
}

function textMember(entry: Members, member: 'kid' | 'alg', name: string): string | undefined {
  const value = entry[member]
  if (value === undefined) return undefined
  // PostgreSQL cannot store NUL, nor half of a surrogate pair.
  const isText = typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
  if (!isText || value.length === 0 || value.length > MAX_KEY_ID_LENGTH) {
    return refuse(`the "${member}" of ${name} must be a text of 1 to ${MAX_KEY_ID_LENGTH} characters`)
  }
  return value
}

function assertDifferent(values: readonly string[]): void {
  if (new Set(values).size < values.length) refuse('the JWK Set has a key, or a "kid", twice')
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refuse(reason: string): never {
  throw new DomainError('user_key_invalid', `the public key cannot be used: ${reason}`)
}
