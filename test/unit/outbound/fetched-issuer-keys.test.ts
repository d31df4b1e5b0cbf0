/**
 * Keys of issuers that are fetched, from real servers: where they are looked for, when, and for how long they are used.
 */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { compactVerify, errors } from 'jose'
import { parsePublishedKeys } from '../../../src/crypto/issuer-key.ts'
import type { KeySource } from '../../../src/domain/federation/trusted-issuer.ts'
import { createAddressPolicy } from '../../../src/outbound/address-policy.ts'
import { FetchedIssuerKeys } from '../../../src/outbound/fetched-issuer-keys.ts'
import { createFetchIssuerKeys, createGetDocument } from '../../../src/outbound/issuer-key-fetch.ts'
import {
  DISCOVERY_PATH,
  type HttpsIssuer,
  type IssuerKeyPair,
  json,
  jwtBy,
  newIssuerKey,
  startHttpsIssuer,
} from '../../support/https-issuer.ts'
import { createAuthority } from '../../support/server-certificates.ts'

const authority = createAuthority()
const key = newIssuerKey('first')
const other = newIssuerKey('second')
const UNAVAILABLE = expect.objectContaining({ code: 'trusted_issuer_unavailable' })

let issuer: HttpsIssuer
let keys: FetchedIssuerKeys
let fetches: string[]
let logged: string[]
beforeEach(async () => {
  issuer = await startHttpsIssuer(authority)
  fetches = []
  logged = []
  keys = newKeys()
})
afterEach(async () => {
  jest.restoreAllMocks()
  await issuer.stop()
})

function newKeys(options: { timeoutMillis?: number } = {}): FetchedIssuerKeys {
  const get = createGetDocument({ allows: createAddressPolicy(['127.0.0.1', '::1']), setting: 'SETTING' })
  const log = (facts: object, message: string) => {
    logged.push(`${message} ${JSON.stringify(facts)}`)
  }
  return new FetchedIssuerKeys({
    fetch: createFetchIssuerKeys({ get, parseKeys: parsePublishedKeys }),
    log: { info: log, warn: log, error: log },
    onFetch: (_, outcome) => fetches.push(outcome),
    ...options,
  })
}

const source = (kind: KeySource['kind'], url: string | null = null): KeySource => {
  return { kind, url, caCertificates: authority.cert, maxStalenessSeconds: 600 }
}

const fetching = (name: string, from: KeySource) => ({ issuerId: name, issuer: name, source: from })
const atJwks = () => fetching('https://a.example', source('jwks_url', `${issuer.url}/jwks`))

/** The ids of the keys of an issuer after a fetch, or why there are none. */
async function fetched(name: string, from: KeySource): Promise<string | readonly unknown[]> {
  await keys.refresh(fetching(name, from), 'now')
  const state = keys.state(fetching(name, from))
  return state.failure?.reason ?? state.keys.map(({ kid }) => kid)
}

describe('fetching the keys of an issuer', () => {
  it.each(['', '/', '/tenant', '/tenant/'])(
    'looks for the discovery document of an issuer with the path %j below it [OpenID Connect Discovery 1.0 §4.1]',
    async (path) => {
      const name = issuer.url + path
      const document = path.replace(/\/$/, '') + DISCOVERY_PATH
      issuer.answer(document, json({ issuer: name, jwks_uri: `${issuer.url}/jwks` }))
      issuer.answer('/jwks', json({ keys: [newIssuerKey('first').jwk] }))
      expect(await fetched(name, source('discovery'))).toEqual(['first'])
      expect(issuer.requests).toEqual([document, '/jwks'])
    },
  )

  it('takes of a bundle the keys for JWT-SVIDs [SPIFFE Trust Domain and Bundle §4.2.2]', async () => {
    const svidKey = newIssuerKey('first', { use: 'jwt-svid' })
    issuer.answer('/bundle', json({ keys: [svidKey.jwk, other.jwk], spiffe_refresh_hint: 5 }))
    expect(await fetched('spiffe://a.example', source('spiffe_bundle_url', `${issuer.url}/bundle`))).toEqual(['first'])
  })

  it('gives up after its time, whatever the server has sent so far', async () => {
    issuer.answer('/jwks', (response) => response.writeHead(200).write('{'))
    keys = newKeys({ timeoutMillis: 100 })
    expect(await fetched('https://a.example', source('jwks_url', `${issuer.url}/jwks`))).toBe(
      'no complete answer within 0.1 s',
    )
  })

  it.each<[string, string, unknown]>([
    ['a list', 'it is no JSON object with a list of keys', []],
    ['a key alone', 'it is no JSON object with a list of keys', key.jwk],
    ['no keys', 'it has no key that can be used', { keys: [] }],
    ['keys for something else', 'it has no key that can be used', { keys: [newIssuerKey('x', { use: 'enc' }).jwk] }],
    ['201 keys', 'it has more than 200 keys', { keys: Array(201).fill({}) }],
    [
      '51 keys that can be used',
      'it has more than 50 keys that can be used',
      { keys: Array.from({ length: 51 }, (_, i) => newIssuerKey(`${i}`).jwk) },
    ],
  ])('refuses %s in the place of a JWKS', async (_, reason, document) => {
    issuer.answer('/jwks', json(document))
    expect(await fetched('https://a.example', source('jwks_url', `${issuer.url}/jwks`))).toBe(
      `what it answers is no key set: ${reason}`,
    )
  })

  it.each<[string, string, (url: string) => unknown]>([
    ['null', 'the discovery document is no JSON object', () => null],
    [
      'another issuer',
      'the discovery document names another issuer',
      (url) => ({ issuer: `${url}/tenant`, jwks_uri: url }),
    ],
    ['no issuer', 'the discovery document names another issuer', (url) => ({ jwks_uri: url })],
    ['no jwks_uri', 'the discovery document has no jwks_uri', (url) => ({ issuer: url })],
    [
      'a jwks_uri over http',
      'the URL of the keys is no https URL, or has a user in it',
      (url) => ({ issuer: url, jwks_uri: url.replace('https', 'http') }),
    ],
  ])('refuses a discovery document with %s', async (_, reason, document) => {
    issuer.answer(DISCOVERY_PATH, json(document(issuer.url)))
    expect(await fetched(issuer.url, source('discovery'))).toBe(reason)
    expect(issuer.requests).toEqual([DISCOVERY_PATH])
  })
})

describe('the keys of an issuer', () => {
  const BEGIN = Date.now()
  const setClock = (seconds: number) => jest.spyOn(Date, 'now').mockReturnValue(BEGIN + seconds * 1000)
  beforeEach(() => {
    setClock(0)
    issuer.publish(key)
  })

  const jwt = (by: IssuerKeyPair) => jwtBy(by, {})
  const verify = async (by: IssuerKeyPair, from = atJwks()) => {
    await compactVerify(await jwt(by), keys.finderOf(from))
    return 'verified'
  }
  const unknown = expect.any(errors.JWKSNoMatchingKey)

  it('are fetched once for all JWTs that need them', async () => {
    const first = await jwt(key)
    const find = keys.finderOf(atJwks())
    await Promise.all(Array.from({ length: 100 }, () => compactVerify(first, find)))
    expect(await verify(key)).toBe('verified')
    expect(fetches).toEqual(['fetched'])
    expect(logged).toEqual([expect.stringContaining('other keys of a trusted issuer were fetched')])
  })

  it('are fetched again for a key that is not known when they are 30 seconds old, and not before', async () => {
    await verify(key)
    issuer.publish(key, other)
    setClock(29.9)
    await expect(verify(other)).rejects.toEqual(unknown)
    expect(issuer.count('/jwks')).toBe(1)
    setClock(30)
    expect(await verify(other)).toBe('verified')
    await expect(verify(newIssuerKey('invented'))).rejects.toEqual(unknown)
    expect(issuer.count('/jwks')).toBe(2)
  })

  it('are fetched again when they are 5 minutes old, so that a key that was withdrawn counts no more', async () => {
    await verify(key)
    issuer.publish(other)
    setClock(299.9)
    expect(await verify(key)).toBe('verified')
    expect(keys.state(atJwks()).nextFetchAt).toEqual(new Date(BEGIN + 300_000))
    setClock(300)
    await expect(verify(key)).rejects.toEqual(unknown)
    expect(await verify(other)).toBe('verified')
    expect(issuer.count('/jwks')).toBe(2)
  })

  it.each<[string, () => void]>([
    ['it publishes no keys', () => issuer.publish()],
    ['it answers 500', () => issuer.answer('/jwks', json({ keys: [other.jwk] }, {}, 500))],
    ['it answers HTML', () => issuer.answer('/jwks', (response) => response.end('<html>'))],
    ['it hangs', () => issuer.answer('/jwks', () => {})],
  ])(
    'are used on while %s, for as long as they may be used, and then nothing is known of its JWTs',
    async (_, fail) => {
      keys = newKeys({ timeoutMillis: 1000 })
      await verify(key)
      fail()
      setClock(300)
      expect(await verify(key)).toBe('verified')
      expect(await verify(key)).toBe('verified')
      expect(keys.state(atJwks())).toMatchObject({
        fetchedAt: new Date(BEGIN),
        failure: { at: new Date(BEGIN + 300_000) },
      })
      expect(fetches).toEqual(['fetched', 'failed'])
      setClock(599.9)
      expect(await verify(key)).toBe('verified')
      setClock(600)
      await expect(verify(key)).rejects.toEqual(UNAVAILABLE)
      const asked = fetches.length
      setClock(629.9)
      await expect(verify(key)).rejects.toEqual(UNAVAILABLE)
      expect(fetches).toHaveLength(asked)
      issuer.publish(other)
      setClock(660)
      expect(await verify(other)).toBe('verified')
    },
  )

  it('are asked for once in 30 seconds while there are none', async () => {
    issuer.answer('/jwks', json({}, {}, 503))
    for (let count = 0; count < 3; count += 1) await expect(verify(key)).rejects.toEqual(UNAVAILABLE)
    expect(fetches).toEqual(['failed'])
    issuer.publish(key)
    setClock(30)
    expect(await verify(key)).toBe('verified')
  })

  it('let 1000 JWTs wait for a fetch, and say so to others', async () => {
    const { promise: asked, resolve: arrive } = Promise.withResolvers<() => void>()
    issuer.answer('/jwks', (response) => arrive(() => json({ keys: [key.jwk] })(response, response.req)))
    const first = await jwt(key)
    const find = keys.finderOf(atJwks())
    const waiting = Array.from({ length: 1000 }, () => compactVerify(first, find))
    const answer = await asked
    await expect(compactVerify(first, find)).rejects.toThrow('too many requests are waiting')
    // Those of another issuer do not wait behind them.
    await expect(verify(key, fetching('https://b.example', source('jwks_url', `${issuer.url}/b`)))).rejects.toEqual(
      UNAVAILABLE,
    )
    answer()
    await Promise.all(waiting)
  })
})
