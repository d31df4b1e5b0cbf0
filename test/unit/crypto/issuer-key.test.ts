import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { parsePublishedKeys } from '../../../src/crypto/issuer-key.ts'

const newJwk = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })

describe('the keys that an issuer publishes', () => {
  it.each([
    ['NUL', '\0'],
    ['half of a surrogate pair', '\ud83d'],
    ['the other half', '\ude00'],
  ])('are taken without one whose kid PostgreSQL cannot store, because it has %s', (_, character) => {
    const good = { ...newJwk(), kid: 'good 😀' }
    const json = JSON.stringify({ keys: [{ ...newJwk(), kid: `bad${character}` }, good] })
    expect(parsePublishedKeys(json, 'jwks')).toEqual({ keys: [good], refreshSeconds: null })
  })
})
