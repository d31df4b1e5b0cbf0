import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { createClientSecrets } from '../../../src/crypto/client-secret.ts'

const key = (byte: number) => new Uint8Array(32).fill(byte)
const keys = { clientSecrets: key(1), personalAccessTokens: key(2), personalAccessTokenTags: key(4) }
const clientSecrets = createClientSecrets(keys)

/** What a database must have: made by the HMAC of the platform. */
const expected = (derived: Uint8Array, text: string) =>
  createHmac('sha256', derived).update(createHash('sha256').update(text).digest()).digest('hex')

describe('a client secret', () => {
  it('has 256 random bits behind a prefix that tells what it is', () => {
    const secrets = Array.from({ length: 100 }, () => clientSecrets.generate().secret)
    expect(new Set(secrets).size).toBe(100)
    for (const secret of secrets) {
      expect(secret).toMatch(/^ktn_cs_[A-Za-z0-9_-]{43}$/)
      expect(Buffer.from(secret.slice('ktn_cs_'.length), 'base64url')).toHaveLength(32)
    }
  })

  it('is kept as the HMAC of its SHA-256 [RFC 2104 §2]', () => {
    for (let count = 0; count < 50; count += 1) {
      const { secret, hash } = clientSecrets.generate()
      expect(Buffer.from(hash).toString('hex')).toBe(expected(keys.clientSecrets, secret))
    }
  })

  it('does not match its SHA-256, the hash of another instance, or the hash that a personal access token has', () => {
    const { secret, hash } = clientSecrets.generate()
    const others = createClientSecrets({ ...keys, clientSecrets: key(3), personalAccessTokens: key(1) })
    expect(clientSecrets.matches(secret, [createHash('sha256').update(secret).digest()])).toBe(false)
    expect(others.matches(secret, [hash])).toBe(false)
    expect(clientSecrets.matches(secret, [clientSecrets.hashPersonalAccessToken(secret)])).toBe(false)
    expect(clientSecrets.matchesPersonalAccessToken(secret, [hash])).toBe(false)
  })

  it('matches wherever its hash stands among those of other secrets [Spec §5]', () => {
    const others = Array.from({ length: 3 }, () => clientSecrets.generate().hash)
    const { secret, hash } = clientSecrets.generate()
    expect(clientSecrets.matches(secret, [hash])).toBe(true)
    expect(clientSecrets.matches(secret, [hash, ...others])).toBe(true)
    expect(clientSecrets.matches(secret, [...others, hash])).toBe(true)
    expect(clientSecrets.matches(secret, others)).toBe(false)
  })

  it('does not match no hashes, or hashes of another length', () => {
    const { secret, hash } = clientSecrets.generate()
    expect(clientSecrets.matches(secret, [])).toBe(false)
    expect(clientSecrets.matches(secret, [new Uint8Array(0), hash.slice(0, 31), new Uint8Array(33)])).toBe(false)
  })

  it.each([
    ['nothing', () => ''],
    ['one character less', (secret: string) => secret.slice(0, -1)],
    ['one character more', (secret: string) => `${secret}A`],
    ['another case', (secret: string) => secret.toUpperCase()],
    ['no prefix', (secret: string) => secret.slice('ktn_cs_'.length)],
    ['blanks around it', (secret: string) => ` ${secret} `],
  ])('does not match a text with %s', (_, change) => {
    const { secret, hash } = clientSecrets.generate()
    expect(clientSecrets.matches(change(secret), [hash])).toBe(false)
  })
})

describe('a personal access token', () => {
  it('has 256 random bits behind a prefix that secret scanners can look for', () => {
    const tokens = Array.from({ length: 100 }, () => clientSecrets.generatePersonalAccessToken().token)
    expect(new Set(tokens).size).toBe(100)
    for (const token of tokens) expect(token).toMatch(/^ktn_pat_[A-Za-z0-9_-]{59}$/)
  })

  it('is kept as the HMAC of its SHA-256, under which it is looked for [RFC 2104 §2]', () => {
    const { token, hash } = clientSecrets.generatePersonalAccessToken()
    expect(Buffer.from(hash).toString('hex')).toBe(expected(keys.personalAccessTokens, token))
    expect(clientSecrets.hashPersonalAccessToken(token)).toEqual(hash)
    expect(clientSecrets.matchesPersonalAccessToken(token, [hash])).toBe(true)
    expect(clientSecrets.matchesPersonalAccessToken(`${token}A`, [hash])).toBe(false)
  })
  it('ends in a tag: the first 96 bits of the HMAC of what stands before it, under a key of its own [RFC 2104 §5]', () => {
    const { token } = clientSecrets.generatePersonalAccessToken()
    const tag = createHmac('sha256', keys.personalAccessTokenTags).update(token.slice(0, 51)).digest()
    expect(token.slice(51)).toBe(tag.subarray(0, 12).toString('base64url'))
    expect(clientSecrets.isGenuinePersonalAccessToken(token)).toBe(true)
  })

  it('is known for invented when any character of it is another one, and in another instance', () => {
    const { token } = clientSecrets.generatePersonalAccessToken()
    for (let at = 0; at < token.length; at += 1) {
      const altered = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
      expect(clientSecrets.isGenuinePersonalAccessToken(altered)).toBe(false)
    }
    const others = createClientSecrets({ ...keys, personalAccessTokenTags: key(5) })
    expect(others.isGenuinePersonalAccessToken(token)).toBe(false)
  })
})
