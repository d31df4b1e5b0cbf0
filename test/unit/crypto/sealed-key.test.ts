import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { CompactEncrypt, decodeProtectedHeader } from 'jose'
import { parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../src/crypto/sealed-key.ts'

const one = `one:${Buffer.alloc(32, 1).toString('base64url')}`
const two = `two:${Buffer.alloc(32, 2).toString('base64url')}`
const masterKeyOne = createSecretKey(Buffer.alloc(32, 1))

const owner = { keyId: 'key-1', algorithm: 'EdDSA' } as const
const { privateKey } = generateKeyPairSync('ed25519')
const pkcs8 = new Uint8Array(privateKey.export({ format: 'der', type: 'pkcs8' }))
const secretScalar = privateKey.export({ format: 'jwk' }).d!

const sealer = createKeySealer(parseMasterKeys(one))

/** The same text with one character in the middle of the part exchanged. */
function tamper(jwe: string, part: number): string {
  const parts = jwe.split('.')
  const text = parts[part]!
  const middle = text.length >> 1
  parts[part] = `${text.slice(0, middle)}${text[middle] === 'A' ? 'B' : 'A'}${text.slice(middle + 1)}`
  return parts.join('.')
}

function sealedWith(header: Record<string, unknown>): Promise<string> {
  return new CompactEncrypt(pkcs8)
    .setProtectedHeader({
      alg: 'A256GCMKW',
      enc: 'A256GCM',
      kid: 'one',
      cty: 'pkcs8',
      key_id: 'key-1',
      key_alg: 'EdDSA',
      ...header,
    })
    .encrypt(masterKeyOne)
}

describe('sealing a private key', () => {
  it('names the master key and binds the key id and the algorithm in the protected header', async () => {
    expect(decodeProtectedHeader(await sealer.seal(pkcs8, owner))).toMatchObject({
      alg: 'A256GCMKW',
      enc: 'A256GCM',
      kid: 'one',
      cty: 'pkcs8',
      key_id: 'key-1',
      key_alg: 'EdDSA',
    })
  })

  it('shows nothing of the key, and never looks the same twice', async () => {
    const [first, second] = [await sealer.seal(pkcs8, owner), await sealer.seal(pkcs8, owner)]
    expect(first.split('.').map((part) => Buffer.from(part, 'base64url').includes(Buffer.from(pkcs8)))).not.toContain(
      true,
    )
    expect(first).not.toContain(secretScalar)
    expect(first.split('.')[1]).not.toBe(second.split('.')[1])
    expect(first.split('.')[3]).not.toBe(second.split('.')[3])
  })

  it('uses the first master key, and opens with any', async () => {
    const sealedWithOne = await sealer.seal(pkcs8, owner)
    const rotated = createKeySealer(parseMasterKeys(`${two},${one}`))
    expect((await rotated.open(sealedWithOne, owner)).equals(privateKey)).toBe(true)
    expect(decodeProtectedHeader(await rotated.seal(pkcs8, owner))).toMatchObject({ kid: 'two' })
  })
})

describe('opening a sealed private key', () => {
  it('fails when its master key is not configured, and says which one that is', async () => {
    const sealed = await sealer.seal(pkcs8, owner)
    const other = createKeySealer(parseMasterKeys(two))
    await expect(other.open(sealed, owner)).rejects.toThrow(/web key key-1 .* master key "one"/)
  })

  it.each([
    ['protected header', 0],
    ['encrypted key', 1],
    ['initialization vector', 2],
    ['ciphertext', 3],
    ['authentication tag', 4],
  ])('fails when the %s was changed', async (_, part) => {
    const sealed = await sealer.seal(pkcs8, owner)
    await expect(sealer.open(tamper(sealed, part), owner)).rejects.toThrow('web key key-1 cannot be opened')
  })

  it('fails when the protected header was exchanged for one that names another web key', async () => {
    const mine = await sealer.seal(pkcs8, owner)
    const theirs = await sealer.seal(pkcs8, { keyId: 'key-2', algorithm: 'EdDSA' })
    const forged = [theirs.split('.')[0], ...mine.split('.').slice(1)].join('.')
    await expect(sealer.open(forged, { keyId: 'key-2', algorithm: 'EdDSA' })).rejects.toThrow('cannot be opened')
  })

  it.each([
    ['another key id', { keyId: 'key-2', algorithm: 'EdDSA' }],
    ['another algorithm', { keyId: 'key-1', algorithm: 'ES256' }],
  ] as const)('fails for a web key with %s', async (_, other) => {
    const sealed = await sealer.seal(pkcs8, owner)
    await expect(sealer.open(sealed, other)).rejects.toThrow(
      `web key ${other.keyId} cannot be opened: it was sealed for something else`,
    )
  })

  it.each([
    ['another key wrapping', { alg: 'A256KW' }],
    ['no key wrapping', { alg: 'dir' }],
    ['another encryption', { enc: 'A128GCM' }],
    ['compression', { zip: 'DEF' }],
    ['another content type', { cty: 'json' }],
    ['no master key named', { kid: undefined }],
    ['a master key named by a number', { kid: 1 }],
  ])('accepts nothing with %s, even from a holder of the master key', async (_, header) => {
    expect((await sealer.open(await sealedWith({}), owner)).equals(privateKey)).toBe(true)
    await expect(sealer.open(await sealedWith(header), owner)).rejects.toThrow('web key key-1')
  })
})

describe('an opened private key', () => {
  it.each([
    ['was used', () => {}],
    [
      'could not be used',
      () => {
        throw new Error('it cannot be used')
      },
    ],
  ])('is wiped once it %s', async (_, use) => {
    const sealed = await sealer.seal(pkcs8.slice(), owner)
    const kept: Uint8Array[] = []
    await sealer
      .use(sealed, owner, (opened) => {
        expect(Buffer.compare(opened, pkcs8)).toBe(0)
        kept.push(opened)
        use()
      })
      .catch((error: Error) => expect(error.message).toBe('it cannot be used'))
    expect(kept.map((bytes) => [...bytes])).toEqual([Array.from(pkcs8, () => 0)])
  })
})
