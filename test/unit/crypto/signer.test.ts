import { describe, expect, it } from '@jest/globals'
import { compactVerify } from 'jose'
import { createKeyPairGenerator } from '../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../src/crypto/sealed-key.ts'
import { createSignerFactory } from '../../../src/crypto/signer.ts'
import type { WebKeyConfig } from '../../../src/domain/keys/key-algorithm.ts'
import type { SealedKeyPair } from '../../../src/domain/keys/key-ring.ts'
import { type ActiveWebKey, activate, createWebKey } from '../../../src/domain/keys/web-key.ts'

const sealer = createKeySealer(parseMasterKeys(generateMasterKey()))
const generator = createKeyPairGenerator(sealer)
const signers = createSignerFactory(sealer)

const now = new Date('2030-01-01T00:00:00Z')
const active = (pair: SealedKeyPair): ActiveWebKey => activate(createWebKey(pair, now), now)
const base64url = (text: string): string => Buffer.from(text).toString('base64url')

describe('signing with the active web key', () => {
  it.each<[string, WebKeyConfig, number]>([
    ['RS256', { kind: 'rsa', bits: 2048, hasher: 'sha256' }, 256],
    ['RS384', { kind: 'rsa', bits: 2048, hasher: 'sha384' }, 256],
    ['RS512', { kind: 'rsa', bits: 2048, hasher: 'sha512' }, 256],
    ['ES256', { kind: 'ecdsa', curve: 'P-256' }, 64],
    ['ES384', { kind: 'ecdsa', curve: 'P-384' }, 96],
    ['ES512', { kind: 'ecdsa', curve: 'P-521' }, 132],
    ['EdDSA', { kind: 'ed25519' }, 64],
  ])('gives signatures of %s that another implementation verifies', async (alg, config, length) => {
    const pair = await generator.generate(config)
    const signer = await signers.open(active(pair), pair.sealedPrivateKey)

    // Several, as the two numbers of an ECDSA signature are shorter now and then.
    for (let round = 0; round < 20; round++) {
      const input = `${base64url(JSON.stringify({ alg }))}.${base64url(`round ${round}`)}`
      const signature = await signer.sign(Buffer.from(input))
      expect(signature).toHaveLength(length)
      const jws = `${input}.${Buffer.from(signature).toString('base64url')}`
      const { payload } = await compactVerify(jws, { ...pair.publicJwk }, { algorithms: [alg] })
      expect(Buffer.from(payload).toString()).toBe(`round ${round}`)
    }
  })
})

describe('opening the key of the active web key', () => {
  it('fails for the sealed key of another web key', async () => {
    const [mine, theirs] = await Promise.all([
      generator.generate({ kind: 'ed25519' }),
      generator.generate({ kind: 'ed25519' }),
    ])
    await expect(signers.open(active(mine), theirs.sealedPrivateKey)).rejects.toThrow('sealed for something else')
  })

  it.each<[string, WebKeyConfig]>([
    ['of the same kind', { kind: 'ed25519' }],
    ['of another kind', { kind: 'ecdsa', curve: 'P-256' }],
  ])('fails for a public key %s that is not its own, although id and algorithm fit', async (_, config) => {
    const pair = await generator.generate({ kind: 'ed25519' })
    const other = await generator.generate(config)
    const key = { ...active(pair), publicJwk: other.publicJwk }
    await expect(signers.open(key, pair.sealedPrivateKey)).rejects.toThrow('does not fit its public key')
  })
})
