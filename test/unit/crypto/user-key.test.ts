import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parseUserKeys } from '../../../src/crypto/user-key.ts'
import { DomainError } from '../../../src/domain/errors.ts'

const jwkOf = (key: KeyObject): JsonWebKey => key.export({ format: 'jwk' })
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve })
const rsaOf = (modulusLength: number, publicExponent = 65_537) =>
  jwkOf(generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey)

const rsa = rsaOf(2048)
const pairs = { p256: ec('P-256'), p384: ec('P-384'), p521: ec('P-521'), ed25519: generateKeyPairSync('ed25519') }
const p256 = jwkOf(pairs.p256.publicKey)
const p384 = jwkOf(pairs.p384.publicKey)
const p521 = jwkOf(pairs.p521.publicKey)
const ed25519 = jwkOf(pairs.ed25519.publicKey)

const parse = (value: unknown) => parseUserKeys(JSON.stringify(value))

/** The refusal of a text. */
function refusalOf(json: string): DomainError {
  try {
    parseUserKeys(json)
  } catch (error) {
    if (error instanceof DomainError) return error
    throw error
  }
  throw new Error('it was not refused')
}

describe('a public key of a user', () => {
  it.each([
    ['RSA with 2048 bits', rsa, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
    ['P-256', p256, ['ES256']],
    ['P-384', p384, ['ES384']],
    ['P-521', p521, ['ES512']],
    ['Ed25519', ed25519, ['EdDSA', 'Ed25519']],
  ])('may be %s, with an algorithm that fits', (_, jwk, algorithms) => {
    expect(parse(jwk)).toEqual([jwk])
    for (const alg of algorithms) expect(parse({ ...jwk, alg })).toEqual([{ ...jwk, alg }])
    for (const alg of ['HS256', 'none', 'RSA-OAEP', 'ES256K', 'constructor', 'toString']) {
      expect(refusalOf(JSON.stringify({ ...jwk, alg })).message).toContain('the "alg" of the key does not fit it')
    }
  })

  it('keeps what its thumbprint covers, kid and alg, and nothing else', () => {
    const jwk = { ...p256, kid: 'mine', alg: 'ES256' }
    const more = {
      use: 'sig',
      key_ops: ['verify'],
      x5c: ['x'],
      x5u: 'https://elsewhere.example',
      jwks_uri: 'x',
      n: 'x',
    }
    expect(parse({ ...jwk, ...more })).toEqual([jwk])
  })

  it('is kept in its canonical spelling', () => {
    expect(parse({ ...rsa, e: 'AAEAAQ' })).toEqual([rsa])
    expect(parse({ ...ed25519, x: `${ed25519.x}=` })).toEqual([ed25519])
  })

  it.each(['AQ', 'Ag', 'AAAA', Buffer.alloc(40, 0xff).toString('base64url')])(
    'may not have the RSA exponent %s',
    (e) => void expect(refusalOf(JSON.stringify({ ...rsa, e })).code).toBe('user_key_invalid'),
  )

  it.each<[string, unknown, RegExp]>([
    [
      'a private RSA key',
      jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
      /private or symmetric/,
    ],
    ['a private P-256 key', jwkOf(pairs.p256.privateKey), /private or symmetric/],
    ['a public key with a private member', { ...rsa, qi: '' }, /private or symmetric/],
    ['a private key among others', { keys: [p384, jwkOf(pairs.p256.privateKey)] }, /key 2 is a private/],
    ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }, /private or symmetric/],
    ['an RSA key of 2040 bits', { ...rsa, n: Buffer.alloc(255, 0xff).toString('base64url') }, /2048 to 8192 bits/],
    ['an RSA key of 8200 bits', { ...rsa, n: Buffer.alloc(1025, 0xff).toString('base64url') }, /2048 to 8192 bits/],
    ['a key for encryption', { ...rsa, use: 'enc' }, /"use"/],
    ['a key for key agreement', jwkOf(generateKeyPairSync('x25519').publicKey), /not supported|no valid/],
    ['a point that is not on the curve', { ...p256, y: p256.x }, /no valid public key/],
    ['a coordinate that is missing', { kty: 'EC', crv: 'P-256', x: p256.x }, /no valid public key/],
    ['no kty', {}, /no valid public key/],
    ['a kid that is no text', { ...rsa, kid: 5 }, /"kid" of the key/],
    ['a kid that is too long', { ...rsa, kid: 'x'.repeat(201) }, /"kid" of the key/],
    [
      'a kid that is no Unicode text, beside a good key',
      { keys: [p256, { ...rsa, kid: 'x\ud800' }] },
      /"kid" of key 2/,
    ],
    ['a list', [rsa], /a JSON object/],
    ['an address of keys', { jwks_uri: 'https://elsewhere.example' }, /no valid public key/],
    ['a set whose keys are no list', { keys: rsa }, /array/],
    ['an empty set', { keys: [] }, /empty/],
    ['the same key twice', { keys: [p256, { ...p256, kid: 'other' }] }, /twice/],
    [
      'the same kid twice',
      {
        keys: [
          { ...p256, kid: 'one' },
          { ...p384, kid: 'one' },
        ],
      },
      /twice/,
    ],
    ['eleven keys', { keys: Array.from({ length: 11 }, () => jwkOf(ec('P-256').publicKey)) }, /more than 10/],
  ])('may not be %s', (_, value, message) => {
    const refusal = refusalOf(JSON.stringify(value))
    expect({ code: refusal.code, message: refusal.message }).toEqual({
      code: 'user_key_invalid',
      message: expect.stringMatching(message),
    })
  })

  it('is refused in no other way, whatever it is', () => {
    const member = fc.constantFrom('kty', 'crv', 'n', 'e', 'x', 'y', 'kid', 'alg', 'use', 'keys', '__proto__', 'd')
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('RSA', 'EC', 'OKP', 'P-256', 'Ed25519', 'AQAB', 'sig'))
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.dictionary(member, value).map((v) => JSON.stringify(v)),
          fc.string(),
        ),
        (json) => {
          expect(refusalOf(json).code).toBe('user_key_invalid')
        },
      ),
      { numRuns: 500 },
    )
  })
})
