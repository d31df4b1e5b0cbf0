import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const JWKS = '/.well-known/openid-configuration/jwks'
const ADDRESSES = [JWKS, '/.well-known/jwks.json', '/oauth/v2/keys']

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
    ['the same tag, weak', (tag) => `W/${tag}`],
    ['a list with it', (tag) => `"another", W/"one more",${tag}`],
    ['any tag', () => '*'],
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
    ['a list without it', () => '"a", W/"b"'],
    ['nothing in the header', () => ''],
  ])('takes the body for a reader who has %s', async (_, ifNoneMatch) => {
    const response = await instance.fetch(JWKS, { headers: { 'if-none-match': ifNoneMatch(await currentTag()) } })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ keys: [expect.objectContaining({ kty: 'RSA' })] })
  })

  it('may ask for the head alone', async () => {
    const got = await instance.fetch(JWKS)
    const head = await instance.fetch(JWKS, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
    for (const name of ['etag', 'cache-control', 'content-type', 'access-control-allow-origin']) {
      expect([name, head.headers.get(name)]).toEqual([name, got.headers.get(name)])
    }
    expect(Number(head.headers.get('content-length'))).toBe((await got.arrayBuffer()).byteLength)
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

describe.each(ADDRESSES)('the key set at %s', (address) => {
  /** All that an answer consists of, but for the id of the request and its time. */
  async function answerAt(path: string, init: RequestInit) {
    const response = await instance.fetch(path, init)
    const headers = Object.fromEntries(response.headers)
    return {
      status: response.status,
      headers: { ...headers, date: '', 'x-request-id': '' },
      body: await response.text(),
    }
  }

  it.each<[string, RequestInit]>([
    ['a reader', {}],
    ['a reader of the head', { method: 'HEAD' }],
    ['a reader who has a copy', { headers: { 'if-none-match': '*' } }],
    ['a reader of the head who has a copy', { method: 'HEAD', headers: { 'if-none-match': '*' } }],
    ['a page of another site', { headers: { origin: 'https://app.example' } }],
    ['a preflight request', { method: 'OPTIONS', headers: { origin: 'https://app.example' } }],
    ['a form', { method: 'POST', body: new URLSearchParams({ a: 'b' }) }],
    ['another method', { method: 'DELETE' }],
  ])('answers %s exactly as the address of the specification does [Spec §4.2]', async (_, init) => {
    const expected = await answerAt(JWKS, init)
    expect(await answerAt(address, init)).toEqual(expected)
    expect(expected.status).not.toBe(404)
  })
})

describe('the key set for pages of other sites', () => {
  it.each(['GET', 'HEAD'])('may be read by any origin (%s)', async (method) => {
    const { headers } = await instance.fetch(JWKS, { method, headers: { origin: 'https://app.example' } })
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })

  it('says so with 304 as well', async () => {
    const headers = { origin: 'https://app.example', 'if-none-match': '*' }
    expect((await instance.fetch(JWKS, { headers })).headers.get('access-control-allow-origin')).toBe('*')
  })

  it('may not be changed: other methods are refused with Allow', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const { status, headers } = await instance.fetch(JWKS, { method })
      expect([method, status]).toEqual([method, 405])
      expect(headers.get('allow')?.split(/, */)).toEqual(expect.arrayContaining(['GET', 'HEAD']))
    }
  })
})
