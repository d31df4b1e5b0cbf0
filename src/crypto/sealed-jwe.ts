/**
 * Compact JWEs (RFC 7516) under master keys: the form of everything that is sealed at rest.
 *
 * They use WebCrypto. The ciphers of `node:crypto` and jose leave a copy of the plaintext or of the content key in memory, which cannot
 * be wiped. Callers check in the protected header what a JWE is sealed for.
 */
import { randomBytes, webcrypto } from 'node:crypto'
import { type CompactJWEHeaderParameters, decodeProtectedHeader } from 'jose'
import type { MasterKey, MasterKeys } from './master-keys.ts'

/** Why a JWE was not opened. The message holds nothing of a key. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen'
}

/** A protected header as it was read: not authenticated before the JWE was opened. */
export type ReadHeader = CompactJWEHeaderParameters

// Random IVs are safe here: each seal has a new content key, and a master key wraps far fewer than 2^32 of those.
const ALG = 'A256GCMKW'
const ENC = 'A256GCM'
const IV_BYTES = 12
const TAG_BYTES = 16
const CONTENT_KEY_BYTES = 32

/** An RSA key of 4096 bits takes 3400 characters. */
const MAX_CHARACTERS = 16_384

const GCM = { name: 'AES-GCM', tagLength: TAG_BYTES * 8 }
type Nonce = Pick<webcrypto.AesGcmParams, 'additionalData'> & { readonly iv: Buffer<ArrayBuffer> }

const { subtle } = webcrypto

/** Seals bytes with the first master key. The caller wipes what it has sealed. @param header Its members are authenticated. */
export async function sealJwe(
  plaintext: Uint8Array<ArrayBuffer>,
  header: Readonly<Record<string, string>>,
  [sealing]: MasterKeys,
): Promise<string> {
  const contentKey = randomBytes(CONTENT_KEY_BYTES)
  try {
    const keyIv = randomBytes(IV_BYTES)
    const [encryptedKey, keyTag] = await encrypt(contentKey, cryptoKeyOf(sealing), { iv: keyIv })
    const parameters = { alg: ALG, enc: ENC, kid: sealing.id, ...header, iv: encode(keyIv), tag: encode(keyTag) }
    const protectedHeader = encode(Buffer.from(JSON.stringify(parameters)))
    const iv = randomBytes(IV_BYTES)
    const additionalData = Buffer.from(protectedHeader)
    const [ciphertext, tag] = await encrypt(plaintext, await importKey(contentKey), { iv, additionalData })
    return [protectedHeader, ...[encryptedKey, iv, ciphertext, tag].map(encode)].join('.')
  } finally {
    contentKey.fill(0)
  }
}

/**
 * Opens a JWE, passes the plaintext to `use`, and wipes it afterwards.
 *
 * @param use Must not keep the bytes.
 * @throws {CannotOpen} if no configured master key opens it, or anything of it was changed; whatever `use` throws.
 */
export async function openJwe<T>(
  jwe: string,
  masterKeys: MasterKeys,
  use: (plaintext: Buffer<ArrayBuffer>, header: ReadHeader) => T | Promise<T>,
): Promise<T> {
  const parts = split(jwe)
  const contentKey = await unwrapContentKey(parts, masterKeys)
  const imported = await importKey(contentKey).finally(() => contentKey.fill(0))
  const additionalData = Buffer.from(parts.protectedHeader)
  const plaintext = await decrypt(parts.ciphertext, imported, { iv: parts.iv, additionalData })
  try {
    return await use(plaintext, parts.header)
  } finally {
    plaintext.fill(0)
  }
}

/**
 * Checks that a configured master key opens a JWE, without opening it: that master key has wrapped the content key, which
 * is authenticated. What was sealed does not come to light. Neither it nor the header is authenticated by that.
 *
 * @returns The protected header. @throws {CannotOpen} if no configured master key opens it.
 */
export async function assertJweOpens(jwe: string, masterKeys: MasterKeys): Promise<ReadHeader> {
  const parts = split(jwe)
  const contentKey = await unwrapContentKey(parts, masterKeys)
  contentKey.fill(0)
  return parts.header
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

type Parts = ReturnType<typeof split>

function split(jwe: string) {
  const [protectedHeader = '', encryptedKey = '', iv = '', ciphertext = '', tag = '', ...rest] = jwe.split('.')
  if (jwe.length > MAX_CHARACTERS || tag === '' || rest.length > 0) throw new CannotOpen('it is not a compact JWE')
  const header = readHeader(jwe)
  const { alg, enc, zip, crit } = header
  if (alg !== ALG || enc !== ENC || zip !== undefined || crit !== undefined) {
    throw new CannotOpen(`it is not sealed with ${ALG} and ${ENC}`)
  }
  return {
    protectedHeader,
    header,
    encryptedKey: decode(encryptedKey),
    iv: decode(iv),
    ciphertext: Buffer.concat([decode(ciphertext), decode(tag)]),
  }
}

function readHeader(jwe: string): ReadHeader {
  try {
    return decodeProtectedHeader(jwe) as ReadHeader
  } catch (cause) {
    throw new CannotOpen('its header cannot be read', { cause })
  }
}

async function unwrapContentKey({ header, encryptedKey }: Parts, masterKeys: MasterKeys): Promise<Buffer<ArrayBuffer>> {
  const { kid, iv, tag } = header
  const masterKey = masterKeys.find(({ id }) => id === kid)
  if (masterKey === undefined) {
    throw new CannotOpen(`master key ${JSON.stringify(kid)} sealed it and is not configured: add it to the master keys`)
  }
  if (typeof iv !== 'string' || typeof tag !== 'string') throw new CannotOpen('its header has no iv or no tag')
  const contentKey = await decrypt(Buffer.concat([encryptedKey, decode(tag)]), cryptoKeyOf(masterKey), {
    iv: decode(iv),
  })
  if (contentKey.length !== CONTENT_KEY_BYTES) throw new CannotOpen('its content key is of another length')
  return contentKey
}

async function encrypt(
  plaintext: Uint8Array<ArrayBuffer>,
  key: webcrypto.CryptoKey,
  nonce: Nonce,
): Promise<readonly [ciphertext: Buffer, tag: Buffer]> {
  const sealed = Buffer.from(await subtle.encrypt({ ...GCM, ...nonce }, key, plaintext))
  return [sealed.subarray(0, -TAG_BYTES), sealed.subarray(-TAG_BYTES)]
}

async function decrypt(
  ciphertext: Buffer<ArrayBuffer>,
  key: webcrypto.CryptoKey,
  nonce: Nonce,
): Promise<Buffer<ArrayBuffer>> {
  if (nonce.iv.length !== IV_BYTES || ciphertext.length < TAG_BYTES) throw new CannotOpen('it is not whole')
  try {
    return Buffer.from(await subtle.decrypt({ ...GCM, ...nonce }, key, ciphertext))
  } catch (cause) {
    throw new CannotOpen('decryption operation failed', { cause })
  }
}

/** A copy, which is wiped when it is collected. */
function importKey(contentKey: Buffer<ArrayBuffer>): Promise<webcrypto.CryptoKey> {
  return subtle.importKey('raw', contentKey, 'AES-GCM', false, ['encrypt', 'decrypt'])
}

function cryptoKeyOf({ key }: MasterKey): webcrypto.CryptoKey {
  return key.toCryptoKey('AES-GCM', false, ['encrypt', 'decrypt'])
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64url')
}

function decode(text: string): Buffer<ArrayBuffer> {
  return Buffer.from(text, 'base64url')
}
