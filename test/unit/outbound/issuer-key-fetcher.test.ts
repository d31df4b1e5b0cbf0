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
})
