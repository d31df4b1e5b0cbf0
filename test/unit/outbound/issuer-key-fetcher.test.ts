/**
 * Fetches of keys: where they are looked for, and for how long they may be reused.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { parsePublishedKeys } from '../../../src/crypto/issuer-key.ts'
import type { KeySource } from '../../../src/domain/federation/issuer-keys.ts'
import { createAddressPolicy } from '../../../src/outbound/address-policy.ts'
import { createGetDocument } from '../../../src/outbound/https-document.ts'
import { createIssuerKeyFetcher } from '../../../src/outbound/issuer-key-fetcher.ts'
import { DISCOVERY_PATH, type HttpsIssuer, json, newIssuerKey, startHttpsIssuer } from '../../support/https-issuer.ts'
import { createAuthority } from '../../support/server-certificates.ts'

const authority = createAuthority()
const key = newIssuerKey('first', { use: 'jwt-svid' })
const NEVER = new AbortController().signal

let issuer: HttpsIssuer
beforeEach(async () => {
  issuer = await startHttpsIssuer(authority)
})
afterEach(() => issuer.stop())

const source = (kind: KeySource['kind'], url: string | null = null): KeySource => {
  return { kind, url, caCertificates: authority.cert, maxStalenessSeconds: 600 }
}

function fetchKeys(name: string, from: KeySource, { signal = NEVER, timeoutMillis = 10_000 } = {}) {
  const get = createGetDocument({ allows: createAddressPolicy(['127.0.0.1', '::1']), setting: 'SETTING' })
  return createIssuerKeyFetcher({ get, parseKeys: parsePublishedKeys, timeoutMillis }).fetch(name, from, signal)
}

describe('fetching the keys of an issuer', () => {
  it.each(['', '/', '/tenant', '/tenant/'])(
    'looks for the discovery document of an issuer with the path %j below it [OpenID Connect Discovery 1.0 §4.1]',
    async (path) => {
      const name = issuer.url + path
      const document = path.replace(/\/$/, '') + DISCOVERY_PATH
      issuer.answer(document, json({ issuer: name, jwks_uri: `${issuer.url}/jwks` }))
      issuer.answer('/jwks', json({ keys: [newIssuerKey('first').jwk] }))
      expect(await fetchKeys(name, source('discovery'))).toMatchObject({ kind: 'fetched', keys: [{ kid: 'first' }] })
      expect(issuer.requests).toEqual([document, '/jwks'])
    },
  )

  it.each([
    [{ 'cache-control': 'max-age=900' }, 900],
    [{}, null],
  ])('takes from the headers %j of a JWKS for how long it may be reused', async (headers, freshSeconds) => {
    issuer.answer('/jwks', json({ keys: [], spiffe_refresh_hint: 5 }, headers))
    const outcome = await fetchKeys('https://a.example', source('jwks_url', `${issuer.url}/jwks`))
    expect(outcome).toEqual({ kind: 'fetched', keys: [], freshSeconds })
  })

  it.each([
    [{ spiffe_refresh_hint: 600 }, 600],
    [{}, null],
    [{ spiffe_refresh_hint: '600' }, null],
    [{ spiffe_refresh_hint: -1 }, null],
  ])(
    'takes from a bundle with %j how often to fetch it [SPIFFE Trust Domain and Bundle §4.1.2]',
    async (hint, freshSeconds) => {
      issuer.answer(
        '/bundle',
        json({ keys: [key.jwk, { ...key.jwk, use: undefined }], ...hint }, { 'cache-control': 'max-age=9' }),
      )
      const outcome = await fetchKeys('spiffe://a.example', source('spiffe_bundle_url', `${issuer.url}/bundle`))
      expect(outcome).toEqual({ kind: 'fetched', keys: [expect.objectContaining({ kid: 'first' })], freshSeconds })
    },
  )

  it('gives up after its time, whatever the server has sent so far', async () => {
    issuer.answer('/jwks', (response) => response.writeHead(200).write('{'))
    const outcome = await fetchKeys('https://a.example', source('jwks_url', `${issuer.url}/jwks`), {
      timeoutMillis: 100,
    })
    expect(outcome).toEqual({ kind: 'failed', reason: 'no complete answer within 0.1 s' })
  })

  it('ends when it is aborted', async () => {
    const aborting = new AbortController()
    issuer.answer('/jwks', () => aborting.abort())
    const url = `${issuer.url}/jwks`
    const outcome = await fetchKeys('https://a.example', source('jwks_url', url), { signal: aborting.signal })
    expect(outcome).toEqual({ kind: 'failed', reason: 'it was aborted' })
  })

  it.each<[string, string, unknown]>([
    ['a list', 'it is no JSON object with a list of keys', []],
    ['a key alone', 'it is no JSON object with a list of keys', key.jwk],
    ['keys that are none', 'it is no JSON object with a list of keys', { keys: [1] }],
    ['201 keys', 'it has more than 200 keys', { keys: Array(201).fill({}) }],
    [
      '51 keys that can be used',
      'it has more than 50 keys that can be used',
      { keys: Array.from({ length: 51 }, (_, i) => newIssuerKey(`${i}`).jwk) },
    ],
  ])('refuses %s in the place of a JWKS', async (_, reason, document) => {
    issuer.answer('/jwks', json(document))
    const outcome = await fetchKeys('https://a.example', source('jwks_url', `${issuer.url}/jwks`))
    expect(outcome).toEqual({ kind: 'failed', reason: `what it answers is no key set: ${reason}` })
  })

  it('takes 50 keys, each of them once', async () => {
    const keys = Array.from({ length: 50 }, (_, i) => newIssuerKey(`${i}`).jwk)
    issuer.answer('/jwks', json({ keys: [...keys, ...keys] }))
    const outcome = await fetchKeys('https://a.example', source('jwks_url', `${issuer.url}/jwks`))
    expect(outcome.kind === 'fetched' && outcome.keys).toHaveLength(50)
  })

  it.each<[string, string, (url: string) => unknown]>([
    ['no JSON object', 'the discovery document is no JSON object', () => 'issuer'],
    ['null', 'the discovery document is no JSON object', () => null],
    [
      'another issuer',
      'the discovery document names another issuer',
      (url) => ({ issuer: `${url}/tenant`, jwks_uri: url }),
    ],
    [
      'a slash more',
      'the discovery document names another issuer: the same with / at the end',
      (url) => ({ issuer: `${url}/`, jwks_uri: url }),
    ],
    ['no issuer', 'the discovery document names another issuer', (url) => ({ jwks_uri: url })],
    ['no jwks_uri', 'the discovery document has no jwks_uri', (url) => ({ issuer: url })],
    [
      'a jwks_uri that is a list',
      'the discovery document has no jwks_uri',
      (url) => ({ issuer: url, jwks_uri: [url] }),
    ],
    [
      'a jwks_uri over http',
      'the URL of the keys is no https URL, or has a user in it',
      (url) => ({ issuer: url, jwks_uri: url.replace('https', 'http') }),
    ],
    [
      'a jwks_uri in a file',
      'the URL of the keys is no https URL, or has a user in it',
      (url) => ({ issuer: url, jwks_uri: 'file:///etc/passwd' }),
    ],
  ])('refuses a discovery document with %s', async (_, reason, document) => {
    issuer.answer(DISCOVERY_PATH, json(document(issuer.url)))
    expect(await fetchKeys(issuer.url, source('discovery'))).toEqual({ kind: 'failed', reason })
    expect(issuer.requests).toEqual([DISCOVERY_PATH])
  })

  it('refuses a discovery document with a slash less', async () => {
    issuer.answer(DISCOVERY_PATH, json({ issuer: issuer.url, jwks_uri: issuer.url }))
    expect(await fetchKeys(`${issuer.url}/`, source('discovery'))).toEqual({
      kind: 'failed',
      reason: 'the discovery document names another issuer: the same without / at the end',
    })
  })
})
