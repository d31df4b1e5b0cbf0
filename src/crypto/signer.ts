/** Signs with the private key of the active web key. The opened key stays in the closure of its signer. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { KEY_ALGORITHMS } from '../domain/keys/key-algorithm.ts'
import type { ActiveWebKey } from '../domain/keys/web-key.ts'
import type { SignerFactory } from '../domain/ports/keys.ts'
import { contentOf, readDer, TAG, valuesIn } from './der.ts'
import type { KeySealer } from './sealed-key.ts'

export function createSignerFactory(sealer: KeySealer): SignerFactory {
  return {
    async open(key, sealedPrivateKey) {
      const privateKey = await sealer.open(sealedPrivateKey, key)
      assertBelongsTo(key, privateKey)

      const { hash, quick } = KEY_ALGORITHMS[key.algorithm]
      const form = formOf(key)
      // A slow signature would block the event loop, and a quick one is not worth a thread of the pool. The key is passed without
      // options, because Node spends tens of microseconds on an object with options.
      return quick
        ? { key, sign: async (data) => form(sign(hash, data, privateKey)) }
        : { key, sign: async (data) => form(await signOnThreadPool(hash, data, privateKey)) }
    },
  }
}

// A token signed by another key than the published one would be refused by every verifier.
function assertBelongsTo(key: ActiveWebKey, privateKey: KeyObject): void {
  const published = createPublicKey({ key: key.publicJwk, format: 'jwk' })
  if (!createPublicKey(privateKey).equals(published)) {
    throw new Error(`the private key stored with web key ${key.keyId} does not fit its public key`)
  }
}

/**
 * Converts a signature of OpenSSL to the form of JOSE: for ECDSA r and s side by side (RFC 7518 §3.4), instead of the DER of `ECDSA-Sig-Value`
 * (RFC 3279 §2.2.3). Node.js converts too, but takes longer for that than for the signature.
 */
function formOf({ publicJwk }: ActiveWebKey): (signature: Buffer) => Uint8Array {
  if (publicJwk.kty !== 'EC') return (signature) => signature
  const size = Buffer.from(publicJwk.x, 'base64url').length
  return (der) => {
    const signature = Buffer.alloc(2 * size)
    for (const [i, value] of valuesIn(readDer(der)[0], TAG.sequence).entries()) {
      // It may begin with a zero for the sign.
      const number = contentOf(value, TAG.integer).subarray(-size)
      number.copy(signature, (i + 1) * size - number.length)
    }
    return signature
  }
}

function signOnThreadPool(hash: string, data: Uint8Array, privateKey: KeyObject): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign(hash, data, privateKey, (error, signature) => {
      if (error) reject(error)
      else resolve(signature)
    })
  })
}
