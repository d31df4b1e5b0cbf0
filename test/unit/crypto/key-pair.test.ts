import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { calculateJwkThumbprint } from 'jose'
import { createKeyPairGenerator } from '../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../src/crypto/sealed-key.ts'
import type { WebKeyConfig } from '../../../src/domain/keys/key-algorithm.ts'

const sealer = createKeySealer(parseMasterKeys(generateMasterKey()))
const ed25519: WebKeyConfig = { kind: 'ed25519' }

const RSA_MEMBERS = ['e', 'kty', 'n']
const EC_MEMBERS = ['crv', 'kty', 'x', 'y']

describe('generating a key pair', () => {
  it.each<[string, WebKeyConfig, string[], object]>([
    ['RS256', { kind: 'rsa', bits: 2048, hasher: 'sha256' }, RSA_MEMBERS, { modulusLength: 2048 }],
    ['RS384', { kind: 'rsa', bits: 3072, hasher: 'sha384' }, RSA_MEMBERS, { modulusLength: 3072 }],
    ['ES256', { kind: 'ecdsa', curve: 'P-256' }, EC_MEMBERS, { namedCurve: 'prime256v1' }],
    ['ES384', { kind: 'ecdsa', curve: 'P-384' }, EC_MEMBERS, { namedCurve: 'secp384r1' }],
    ['ES512', { kind: 'ecdsa', curve: 'P-521' }, EC_MEMBERS, { namedCurve: 'secp521r1' }],
    ['EdDSA', ed25519, ['crv', 'kty', 'x'], {}],
  ])('gives one for %s from %j, named by its thumbprint [Spec §2.3]', async (algorithm, config, members, details) => {
    const pair = await createKeyPairGenerator(sealer).generate(config)
    const publicKey = createPublicKey({ key: { ...pair.publicJwk }, format: 'jwk' })

    expect(pair.algorithm).toBe(algorithm)
    expect(Object.keys(pair.publicJwk).sort()).toEqual(members)
    expect(pair.keyId).toBe(await calculateJwkThumbprint(pair.publicJwk, 'sha256'))
    expect(publicKey.asymmetricKeyDetails).toMatchObject(details)

    const privateKey = await sealer.open(pair.sealedPrivateKey, pair)
    expect(createPublicKey(privateKey).equals(publicKey)).toBe(true)
  })

  it('leaves no private key in memory, also if it cannot be sealed', async () => {
    const seen: Uint8Array[] = []
    const seal = async (pkcs8: Uint8Array): Promise<string> => {
      seen.push(pkcs8)
      throw new Error('no')
    }
    await expect(createKeyPairGenerator({ ...sealer, seal }).generate(ed25519)).rejects.toThrow('no')
    expect(seen.map((bytes) => bytes.every((byte) => byte === 0))).toEqual([true])
  })

  it('lets eight wait, refuses more as busy, and takes them again when there is room', async () => {
    const generator = createKeyPairGenerator(sealer)
    const accepted = Array.from({ length: 9 }, () => generator.generate(ed25519))
    await expect(generator.generate(ed25519)).rejects.toMatchObject({ code: 'key_generation_busy' })

    await accepted[0]
    const another = generator.generate(ed25519)
    expect(await Promise.all([...accepted, another])).toHaveLength(10)
  })

  it('keeps a place for revocation and rotation, however many ordinary ones wait', async () => {
    const generator = createKeyPairGenerator(sealer)
    const finished: string[] = []
    const ordinary = [
      generator.generate({ kind: 'rsa', bits: 3072, hasher: 'sha256' }).then(() => finished.push('ordinary')),
      ...Array.from({ length: 8 }, () => generator.generate(ed25519)),
    ]
    await expect(generator.generate(ed25519)).rejects.toMatchObject({ code: 'key_generation_busy' })
    await generator.generate(ed25519, 'high').then(() => finished.push('high'))
    expect(finished).toEqual(['high'])
    await Promise.all(ordinary)
  })
})
