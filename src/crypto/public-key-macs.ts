/**
 * Message authentication codes (HMAC-SHA256, RFC 2104) of rows in the database, and thumbprints of keys.
 *
 * The authenticated text is a JSON array of strings, so that it is unambiguous.
 */
import { createHmac, hash } from 'node:crypto'
import type { PublicKeyMacs } from '../domain/integrity.ts'
import type { PublicJwk } from '../domain/keys/key-algorithm.ts'
import type { DerivedKeys } from './integrity-key.ts'
import { isSame } from './secrets.ts'

export function createPublicKeyMacs(keys: DerivedKeys): PublicKeyMacs {
  const of: PublicKeyMacs['of'] = (kind, texts) =>
    createHmac('sha256', keys[kind]).update(JSON.stringify(texts)).digest()
  return {
    of,
    assert: (kind, texts, found) => {
      if (isSame(of(kind, texts), found)) return
      const reason = 'it was not written by a program that has the integrity key of the instance'
      throw new Error(`its mac does not fit, so ${reason}`)
    },
  }
}

/** The SHA-256 thumbprint of a key, over these members in this order (RFC 7638). */
export function thumbprint(jwk: PublicJwk): string {
  return hash('sha256', JSON.stringify(membersOf(jwk)), 'base64url')
}

function membersOf(jwk: PublicJwk): object {
  switch (jwk.kty) {
    case 'RSA':
      return { e: jwk.e, kty: jwk.kty, n: jwk.n }
    case 'EC':
      return { crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y }
    case 'OKP':
      return { crv: jwk.crv, kty: jwk.kty, x: jwk.x }
  }
}
