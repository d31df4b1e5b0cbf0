import { describe, expect, it } from '@jest/globals'
import { createConsoleSecrets } from '../../../src/crypto/console-secrets.ts'
import { deriveKeys } from '../../../src/crypto/integrity-key.ts'

const secrets = createConsoleSecrets(deriveKeys(Buffer.alloc(32, 'one')))
const others = createConsoleSecrets(deriveKeys(Buffer.alloc(32, 'other')))

describe.each([
  ['code', () => secrets.generateCode().code, secrets.hashCode, secrets.hashCookie, others.hashCode],
  ['cookie', () => secrets.generateCookie().cookie, secrets.hashCookie, secrets.hashCode, others.hashCookie],
])('a %s of the console', (_, generate, hash, hashOther, hashElsewhere) => {
  it('is known to the instance that made it, as what it is, and to no other', () => {
    const secret = generate()
    expect(hash(secret)).toHaveLength(32)
    expect(hashOther(secret)).toBeUndefined()
    expect(hashElsewhere(secret)).toBeUndefined()
  })

  it('is not known once any of its characters is another', () => {
    const secret = generate()
    for (let index = 0; index < secret.length; index += 1) {
      const character = secret[index] === 'A' ? 'B' : 'A'
      expect(hash(secret.slice(0, index) + character + secret.slice(index + 1))).toBeUndefined()
    }
    for (const text of ['', secret.slice(1), `${secret}A`, `${secret}\n`, ` ${secret}`])
      expect(hash(text)).toBeUndefined()
  })

  it('is never made twice', () => {
    expect(new Set(Array.from({ length: 100 }, generate)).size).toBe(100)
  })
})

it('a code and a cookie are stored with the hash by which they are found', () => {
  const { code, hash } = secrets.generateCode()
  expect(secrets.hashCode(code)).toEqual(hash)
  const { cookie, hash: stored } = secrets.generateCookie()
  expect(secrets.hashCookie(cookie)).toEqual(stored)
})
