/**
 * Public keys from JSON columns. A value that is no public key is refused, never repaired.
 */
import type { UserKey } from '../../domain/identities/credential.ts'
import type { EcCurve, PublicJwk } from '../../domain/keys/key-algorithm.ts'

const EC_CURVES = { 'P-256': true, 'P-384': true, 'P-521': true } as const satisfies Record<EcCurve, true>

/**
 * Takes the public members by name, and drops all others.
 *
 * @throws {Error} if one is missing, or the kind of key is not known.
 */
export function parsePublicJwk(json: unknown): PublicJwk {
  const member = (name: string): string => {
    const value = stringMember(json, name)
    if (value === undefined) throw new Error(`public_jwk has no ${name}`)
    return value
  }
  const kty = member('kty')
  if (kty === 'RSA') return { kty, n: member('n'), e: member('e') }
  const crv = member('crv')
  if (kty === 'OKP' && crv === 'Ed25519') return { kty, crv, x: member('x') }
  if (kty === 'EC' && isEcCurve(crv)) return { kty, crv, x: member('x'), y: member('y') }
  throw new Error(`public_jwk is of an unknown kind: ${JSON.stringify({ kty, crv })}`)
}

/** @throws {Error} if it is no public key. */
export function toUserJwk(json: unknown): UserKey['publicJwk'] {
  const kid = stringMember(json, 'kid')
  const alg = stringMember(json, 'alg')
  return { ...parsePublicJwk(json), ...(kid === undefined ? {} : { kid }), ...(alg === undefined ? {} : { alg }) }
}

/** A member that is a string, or undefined. */
function stringMember(json: unknown, name: string): string | undefined {
  const value = typeof json === 'object' && json !== null ? (json as Record<string, unknown>)[name] : undefined
  return typeof value === 'string' ? value : undefined
}

function isEcCurve(text: string): text is EcCurve {
  return Object.hasOwn(EC_CURVES, text)
}
