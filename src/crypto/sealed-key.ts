/**
 * How a private key is kept at rest: as a compact JWE (RFC 7516) that only a master key opens.
 *
 * The protected header names the master key and binds the web key's id and algorithm, so that a sealed key moved to
 * another row of the database does not open there.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import type { KeyPairFacts } from '../domain/web-key.ts'
import type { MasterKeys } from './master-keys.ts'

/** The web key that a sealed private key belongs to. */
type SealedFor = Pick<KeyPairFacts, 'keyId' | 'algorithm'>

/** Which master key a sealed private key says it was sealed with, by its id. Null if that cannot be read. */
export function masterKeyOf(sealed: string): string | null {
  try {
    const { kid } = decodeProtectedHeader(sealed)
    return kid ?? null
  } catch {
    return null
  }
}

/** Seals and opens private keys. */
export interface KeySealer {
  /** The private key as a compact JWE, sealed with the first master key. */
  seal(privateKey: KeyObject, owner: SealedFor): Promise<string>
  /**
   * The private key that was sealed for this web key.
   *
   * @throws {Error} if no configured master key opens it, or it was sealed for another key id or algorithm. The message
   * names the web key or the master key, and holds nothing of either.
   */
  open(sealed: string, owner: SealedFor): Promise<KeyObject>
}

// Random IVs are safe here: each seal has a new content key, and a master key seals far fewer than 2^32 of those.
const ALG = 'A256GCMKW'
const ENC = 'A256GCM'

// PKCS #8 rather than a JWK: a parser that fails on it has no text of the key to quote in its message.
const CTY = 'pkcs8'

/** A sealer that uses these master keys. */
export function createKeySealer(masterKeys: MasterKeys): KeySealer {
  return {
    async seal(privateKey, { keyId, algorithm }) {
      const { id, key } = masterKeys.sealing
      return new CompactEncrypt(privateKey.export({ format: 'der', type: 'pkcs8' }))
        .setProtectedHeader({ alg: ALG, enc: ENC, kid: id, cty: CTY, key_id: keyId, key_alg: algorithm })
        .encrypt(key)
    },

    async open(sealed, { keyId, algorithm }) {
      const { plaintext, protectedHeader } = await decrypt(sealed, masterKeys).catch((cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : 'unknown reason'
        throw new Error(`the private key of web key ${keyId} cannot be opened: ${reason}`, { cause })
      })
      const { cty, key_id, key_alg } = protectedHeader
      if (cty !== CTY || key_id !== keyId || key_alg !== algorithm) {
        throw new Error(`the private key stored with web key ${keyId} (${algorithm}) was sealed for another web key`)
      }
      return createPrivateKey({ key: Buffer.from(plaintext), format: 'der', type: 'pkcs8' })
    },
  }
}

function decrypt(sealed: string, masterKeys: MasterKeys) {
  return compactDecrypt(sealed, ({ kid }) => masterKeyNamed(kid, masterKeys), {
    keyManagementAlgorithms: [ALG],
    contentEncryptionAlgorithms: [ENC],
    // Nothing is sealed compressed, so nothing has to be expanded.
    maxDecompressedLength: 0,
  })
}

function masterKeyNamed(kid: unknown, masterKeys: MasterKeys): KeyObject {
  const masterKey = typeof kid === 'string' ? masterKeys.find(kid) : undefined
  if (masterKey === undefined) {
    throw new Error(`master key ${JSON.stringify(kid)} sealed it and is not configured: add it to the master keys`)
  }
  return masterKey.key
}
