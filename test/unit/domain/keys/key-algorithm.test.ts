import { describe, expect, it } from '@jest/globals'
import {
  algorithmOf,
  DEFAULT_WEB_KEY_CONFIG,
  KEY_ALGORITHMS,
  type KeyAlgorithm,
  parseKeyAlgorithm,
  type WebKeyConfig,
} from '../../../../src/domain/keys/key-algorithm.ts'

describe('the algorithm of a new web key', () => {
  it.each<[WebKeyConfig, KeyAlgorithm]>([
    [{ kind: 'rsa', bits: 2048, hasher: 'sha256' }, 'RS256'],
    [{ kind: 'rsa', bits: 3072, hasher: 'sha384' }, 'RS384'],
    [{ kind: 'rsa', bits: 4096, hasher: 'sha512' }, 'RS512'],
    [{ kind: 'ecdsa', curve: 'P-256' }, 'ES256'],
    [{ kind: 'ecdsa', curve: 'P-384' }, 'ES384'],
    [{ kind: 'ecdsa', curve: 'P-521' }, 'ES512'],
    [{ kind: 'ed25519' }, 'EdDSA'],
  ])('follows from its configuration %j [Spec §2.3]', (config, algorithm) => {
    expect(algorithmOf(config)).toBe(algorithm)
  })

  it('is RS256 with 2048 bits unless asked otherwise [Spec §2.3]', () => {
    expect(DEFAULT_WEB_KEY_CONFIG).toEqual({ kind: 'rsa', bits: 2048, hasher: 'sha256' })
    expect(algorithmOf(DEFAULT_WEB_KEY_CONFIG)).toBe('RS256')
  })
})

describe('reading the name of an algorithm', () => {
  it.each(Object.keys(KEY_ALGORITHMS))('accepts %s', (name) => {
    expect(parseKeyAlgorithm(name)).toBe(name)
  })

  it.each(['', 'none', 'HS256', 'PS256', 'rs256', 'RS256 ', 'toString', '__proto__'])('refuses %j', (name) => {
    expect(() => parseKeyAlgorithm(name)).toThrow(`unknown key algorithm ${JSON.stringify(name)}`)
  })
})
