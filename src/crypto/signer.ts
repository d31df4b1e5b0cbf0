/**
 * Signs with the private key of the active web key, which never leaves this file once it is opened.
 */
import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { KEY_ALGORITHMS } from '../domain/key-algorithm.ts'
import type { SignerFactory } from '../domain/ports.ts'
import type { ActiveWebKey } from '../domain/web-key.ts'
import type { KeySealer } from './sealed-key.ts'

/** A factory that opens private keys with this sealer. */
export function createSignerFactory(sealer: KeySealer): SignerFactory {
  return {
    async open(key, sealedPrivateKey) {
      const privateKey = await sealer.open(sealedPrivateKey, key)
      assertBelongsTo(key, privateKey)

      const { hash, quick } = KEY_ALGORITHMS[key.algorithm]
      // JOSE wants r and s of an ECDSA signature side by side (RFC 7518 §3.4); other keys have no such choice.
      const input = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
      // A slow signature would hold up all other requests; a quick one is not worth the way to another thread.
      return quick
        ? { key, sign: async (data) => sign(hash, data, input) }
        : { key, sign: (data) => signOnThreadPool(hash, data, input) }
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

function signOnThreadPool(hash: string, data: Uint8Array, input: { readonly key: KeyObject }): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    sign(hash, data, input, (error, signature) => {
      if (error) reject(error)
      else resolve(signature)
    })
  })
}
