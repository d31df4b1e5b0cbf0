/**
 * Keys that are sealed at rest: compact JWEs (RFC 7516) that only a master key opens.
 *
 * The protected header says what was sealed and for which row, so that a sealed key moved to another row of the database does not open there.
 * Since the id of a web key is the thumbprint of its public key, a private key that opens for a web key belongs to it.
 */
import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto'
import { CompactEncrypt, type CompactJWEHeaderParameters, compactDecrypt, decodeProtectedHeader } from 'jose'
import { messageOf } from '../domain/errors.ts'
import type { KeyResealer } from '../domain/keys/sealed-keys.ts'
import type { KeyPairFacts } from '../domain/keys/web-key.ts'
import type { MasterKey, MasterKeys } from './master-keys.ts'

// Random IVs are safe here: each seal has a new content key, and a master key wraps far fewer than 2^32 of those.
const ALG = 'A256GCMKW'
const ENC = 'A256GCM'
const ACCEPTED = { keyManagementAlgorithms: [ALG], contentEncryptionAlgorithms: [ENC], maxDecompressedLength: 0 }

/** An RSA key of 4096 bits takes 3400 characters. */
const MAX_CHARACTERS = 16_384

type SealedForWebKey = Pick<KeyPairFacts, 'keyId' | 'algorithm'> & { readonly kind?: 'web_key' }

/** What a sealed key belongs to: a web key, whose private key it is, a webhook or the instance. */
export type SealedFor =
  | SealedForWebKey
  | { readonly kind: 'webhook_secret'; readonly webhookId: string }
  | { readonly kind: 'integrity_key' }

/**
 * Seals and opens keys. Opening and checking throw {Error} if no configured master key opens the text, or it was sealed for something else. The
 * message names what it belongs to or the master key, and holds nothing of either.
 */
export interface KeySealer {
  /** A key as a compact JWE, sealed with the first master key. The caller wipes the bytes; a private key is in DER of PKCS #8. */
  seal(key: Uint8Array, owner: SealedFor): Promise<string>
  /** The private key that was sealed for this web key, to sign with. */
  open(sealed: string, owner: SealedForWebKey): Promise<KeyObject>
  /** Passes the key to `use`, and wipes it afterwards. */
  use<T>(sealed: string, owner: SealedFor, use: (key: Buffer) => T | Promise<T>): Promise<T>
}

export function createKeySealer(masterKeys: MasterKeys): KeySealer {
  const [sealing] = masterKeys
  const use: KeySealer['use'] = async (sealed, owner, work) => {
    const key = await openJwe(sealed, owner, masterKeys)
    try {
      return await work(key)
    } finally {
      key.fill(0)
    }
  }
  return {
    seal: (key, owner) =>
      new CompactEncrypt(key)
        .setProtectedHeader({ alg: ALG, enc: ENC, kid: sealing.id, ...bindingOf(owner) })
        .encrypt(cryptoKeyOf(sealing)),
    open: (sealed, owner) => use(sealed, owner, (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' })),
    use,
  }
}

/** A resealer that opens with any of these master keys and seals with the first. The plaintext is never stored. */
export function createKeyResealer(masterKeys: MasterKeys): KeyResealer {
  const [first, ...others] = masterKeys
  const sealer = createKeySealer(masterKeys)
  return {
    masterKeyIds: [first.id, ...others.map(({ id }) => id)],
    masterKeyOf,
    assertOpens: (key) => sealer.use(key.sealed, key, () => {}),
    async reseal(key) {
      const sealed = await sealer.use(key.sealed, key, (bytes) => sealer.seal(bytes, key))
      // The old sealed text is about to be replaced, so the new one must open with the first master key alone.
      await createKeySealer([first]).use(sealed, key, () => {})
      return sealed
    },
  }
}

/** Which master key a JWE says it was sealed with, by its id. Null if that cannot be read. */
export function masterKeyOf(sealed: string): string | null {
  try {
    const { kid } = decodeProtectedHeader(sealed)
    return kid ?? null
  } catch {
    return null
  }
}

/** @returns What was sealed, which the caller wipes. */
async function openJwe(sealed: string, owner: SealedFor, masterKeys: MasterKeys): Promise<Buffer> {
  const keyFor = (header: CompactJWEHeaderParameters) => {
    const isSame = Object.entries(bindingOf(owner)).every(([member, value]) => header[member] === value)
    if (!isSame) throw new Error('it was sealed for something else')
    const masterKey = masterKeys.find(({ id }) => id === header.kid)
    if (masterKey !== undefined) return cryptoKeyOf(masterKey)
    const name = JSON.stringify(header.kid)
    throw new Error(`master key ${name} sealed it and is not configured: add it to the master keys`)
  }
  try {
    if (sealed.length > MAX_CHARACTERS) throw new Error(`it has more than ${MAX_CHARACTERS} characters`)
    const { plaintext } = await compactDecrypt(sealed, keyFor, ACCEPTED)
    // The same memory.
    return Buffer.from(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength)
  } catch (cause) {
    throw new Error(`${nameOf(owner)} cannot be opened: ${messageOf(cause)}`, { cause })
  }
}

function cryptoKeyOf({ key }: MasterKey): webcrypto.CryptoKey {
  return key.toCryptoKey('AES-GCM', false, ['encrypt', 'decrypt'])
}

/** The members of the protected header that bind what is sealed. PKCS #8 rather than a JWK, because the error of a JSON parser may quote the text. */
function bindingOf(owner: SealedFor): Readonly<Record<string, string>> {
  switch (owner.kind) {
    case 'integrity_key':
      return { cty: 'integrity-key' }
    case 'webhook_secret':
      return { cty: 'webhook-secret', webhook_id: owner.webhookId }
    default:
      return { cty: 'pkcs8', key_id: owner.keyId, key_alg: owner.algorithm }
  }
}

function nameOf(owner: SealedFor): string {
  switch (owner.kind) {
    case 'integrity_key':
      return 'the integrity key of the instance'
    case 'webhook_secret':
      return `the signing secret of webhook ${owner.webhookId}`
    default:
      return `the private key of web key ${owner.keyId}`
  }
}
