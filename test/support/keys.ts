/**
 * Key pairs for tests that only store them: real public keys, and a placeholder for the sealed private half.
 */
import { createHash, generateKeyPairSync } from 'node:crypto'
import type { SealedKeyPair } from '../../src/domain/keys/key-ring.ts'

/** A new ES256 pair. Its key id is the thumbprint of RFC 7638, as for every web key. */
export function newKeyPair(): SealedKeyPair {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
  const keyId = createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url')
  return {
    keyId,
    algorithm: 'ES256',
    publicJwk: { kty: 'EC', crv: 'P-256', x, y },
    sealedPrivateKey: `sealed.${keyId}`,
  }
}
