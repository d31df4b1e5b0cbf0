import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const JWKS = '/.well-known/openid-configuration/jwks'

let instance: OAuthInstance

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off' })
})

afterAll(() => instance?.stop())

async function currentTag(): Promise<string> {
  const tag = (await instance.fetch(JWKS)).headers.get('etag')
  expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/)
  return tag ?? ''
}

describe('caching the key set', () => {
  it('is allowed for five minutes, to everyone, and then takes a question [Spec §4.2] [Spec §8]', async () => {
    const { headers } = await instance.fetch(JWKS)
    expect(headers.get('cache-control')).toBe('public, max-age=300, must-revalidate')
  })

  it.each<[string, (tag: string) => string]>([
    ['the same tag', (tag) => tag],
    ['a list with it', (tag) => `"another", W/"one more",${tag}`],
  ])('spares the body for a reader who has %s [RFC 9110 §13.1.2]', async (_, ifNoneMatch) => {
    const tag = await currentTag()
    for (const method of ['GET', 'HEAD']) {
      const response = await instance.fetch(JWKS, { method, headers: { 'if-none-match': ifNoneMatch(tag) } })
      expect(response.status).toBe(304)
      expect(await response.text()).toBe('')
      expect(response.headers.get('etag')).toBe(tag)
      expect(response.headers.get('cache-control')).toBe('public, max-age=300, must-revalidate')
    }
  })

  it.each<[string, (tag: string) => string]>([
    ['another tag', () => '"another"'],
    ['the tag without quotation marks', (tag) => tag.slice(1, -1)],
  ])('takes the body for a reader who has %s', async (_, ifNoneMatch) => {
    const response = await instance.fetch(JWKS, { headers: { 'if-none-match': ifNoneMatch(await currentTag()) } })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ keys: [expect.objectContaining({ kty: 'RSA' })] })
  })

  it('ends when a key comes, signs or goes', async () => {
    const { webKeys } = await instance.callWebKeys<{ webKeys: { keyId: string }[] }>('ListWebKeys')
    const first = await currentTag()
    expect(await currentTag()).toBe(first)

    const { details } = await instance.callWebKeys<{ details: { keyId: string } }>('CreateWebKey', {
      config: { ed25519: {} },
    })
    const withTwo = await currentTag()
    expect(withTwo).not.toBe(first)

    await instance.callWebKeys('ActivateWebKey', { keyId: details.keyId })
    const turnedRound = await currentTag()
    expect([first, withTwo]).not.toContain(turnedRound)

    await instance.callWebKeys('DeleteWebKey', { keyId: webKeys[0]?.keyId })
    const withTheOther = await currentTag()
    expect([first, withTwo, turnedRound]).not.toContain(withTheOther)
  })
})

describe('the key set for pages of other sites', () => {
  it.each(['GET', 'HEAD'])('may be read by any origin (%s)', async (method) => {
    const { headers } = await instance.fetch(JWKS, { method, headers: { origin: 'https://app.example' } })
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })
})
