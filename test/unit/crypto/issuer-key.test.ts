import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { parseIssuerKeys, parsePublishedKeys } from '../../../src/crypto/issuer-key.ts'

const newJwk = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })

describe('the keys that an issuer publishes', () => {
  it.each([
    ['NUL', '\0'],
    ['half of a surrogate pair', '\ud83d'],
    ['the other half', '\ude00'],
  ])('are taken without one whose kid PostgreSQL cannot store, because it has %s', (_, character) => {
    const good = { ...newJwk(), kid: 'good 😀' }
    const json = JSON.stringify({ keys: [{ ...newJwk(), kid: `bad${character}` }, good] })
    expect(parsePublishedKeys(json, 'jwks')).toEqual([good])
  })
})

describe('the keys that an issuer is given', () => {
  it('may have members that are nested too deeply to be written again', () => {
    const nested = (member: string) => `{"keys":[{"kty":"EC","${member}":${'['.repeat(9000)}${']'.repeat(9000)}}]}`
    for (const member of ['kid', 'use', 'x', 'other'])
      expect(() => parseIssuerKeys(nested(member))).toThrow('the public key cannot be used')
    const good = newJwk()
    const json = JSON.stringify({ keys: [{ ...good, other: 0 }] }).replace(
      ':0}',
      `:${'['.repeat(9000)}${']'.repeat(9000)}}`,
    )
    expect(parseIssuerKeys(json)).toEqual([good])
  })
})
