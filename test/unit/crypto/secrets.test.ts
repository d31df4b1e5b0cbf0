import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { createInstanceSecrets } from '../../../src/crypto/secrets.ts'

const key = (byte: number) => new Uint8Array(32).fill(byte)
const keys = { clientSecrets: key(1), personalAccessTokens: key(2), signInCodes: key(3), sessionCookies: key(4) }
const { clientSecrets, personalAccessTokens, signInCodes, sessionCookies } = createInstanceSecrets(keys)

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
    const { clientSecrets: others } = createInstanceSecrets({ ...keys, clientSecrets: key(5) })
    expect(clientSecrets.matches(secret, [createHash('sha256').update(secret).digest()])).toBe(false)
    expect(others.matches(secret, [hash])).toBe(false)
    expect(clientSecrets.matches(secret, [personalAccessTokens.hash(secret)])).toBe(false)
    expect(personalAccessTokens.matches(secret, [hash])).toBe(false)
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

describe.each([
  ['personal access token', 'ktn_pat_', keys.personalAccessTokens, personalAccessTokens],
  ['code of a sign-in link', 'ktn_link_', keys.signInCodes, signInCodes],
  ['cookie of a session', 'ktn_session_', keys.sessionCookies, sessionCookies],
])('a %s', (_, prefix, derived, secrets) => {
  it('has 256 random bits and a tag behind a prefix that secret scanners can look for', () => {
    const made = Array.from({ length: 100 }, () => secrets.generate().secret)
    expect(new Set(made).size).toBe(100)
    for (const secret of made) expect(secret).toMatch(new RegExp(`^${prefix}[A-Za-z0-9_-]{59}$`))
  })

  it('is kept as the HMAC of its SHA-256, under which it is looked for [RFC 2104 §2]', () => {
    const { secret, hash } = secrets.generate()
    expect(Buffer.from(hash).toString('hex')).toBe(expected(derived, secret))
    expect(secrets.hash(secret)).toEqual(hash)
    expect(secrets.matches(secret, [hash])).toBe(true)
    expect(secrets.matches(`${secret}A`, [hash])).toBe(false)
  })

  it('ends in a tag: the first 96 bits of the HMAC of what stands before it [RFC 2104 §5]', () => {
    const { secret } = secrets.generate()
    const tag = createHmac('sha256', derived).update(secret.slice(0, -16)).digest()
    expect(secret.slice(-16)).toBe(tag.subarray(0, 12).toString('base64url'))
    expect(secrets.isGenuine(secret)).toBe(true)
  })

  it('is known for invented when any character of it is another one, as another kind, and in another instance', () => {
    const { secret } = secrets.generate()
    for (let at = 0; at < secret.length; at += 1) {
      const altered = `${secret.slice(0, at)}${secret[at] === 'A' ? 'B' : 'A'}${secret.slice(at + 1)}`
      expect(secrets.isGenuine(altered)).toBe(false)
    }
    for (const text of ['', secret.slice(1), `${secret}A`, `${secret}\n`, ` ${secret}`])
      expect(secrets.isGenuine(text)).toBe(false)
    const all = Object.values(createInstanceSecrets(keys))
    expect(all.filter((kind) => kind.isGenuine(secret))).toHaveLength(1)
    const others = createInstanceSecrets({
      ...keys,
      personalAccessTokens: key(6),
      signInCodes: key(7),
      sessionCookies: key(8),
    })
    expect(Object.values(others).some((kind) => kind.isGenuine(secret))).toBe(false)
  })
})
