import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import * as client from 'openid-client'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { newProofKey, type ProofKey, type ProofOptions, proofOf } from '../support/dpop.ts'
import type { AdminCredentials, Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { TRANSPORTS, type TransportName } from '../support/web-key-client.ts'

const METHOD = 'iam.webkey.v2beta.WebKeyService/ListWebKeys'

let instance: OAuthInstance
let replica: Keyturn
let admin: AdminCredentials
let key: ProofKey
let token: string
let url: string

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ZITADEL_API: 'on' })
  replica = await instance.startReplica()
  admin = await instance.keyturn.admin()
  key = await newProofKey()
  token = await boundToken(key)
  url = `${instance.keyturn.baseUrl}/${METHOD}`
})

afterAll(() => instance?.stop())

async function boundToken(by: ProofKey): Promise<string> {
  const { client_id, client_secret, token_endpoint } = admin
  const form = { grant_type: 'client_credentials', client_id, client_secret, scope: SERVICE_AUDIENCE_SCOPE }
  const response = await instance.postForm(form, { dpop: await proofOf(by, { url: token_endpoint }) })
  const answer = (await response.json()) as { access_token: string; token_type: string }
  expect(answer.token_type).toBe('DPoP')
  return answer.access_token
}

const proof = (options: Partial<ProofOptions> = {}, by = key) => proofOf(by, { url, accessToken: token, ...options })

/** What a call with these headers is answered. */
async function call(headers: Record<string, string>, at = instance.keyturn) {
  const response = await fetch(`${at.listenUrl}/${METHOD}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  })
  const answer = (await response.json()) as { details?: { debug?: { reason?: string } }[] }
  return {
    status: response.status,
    reason: answer.details?.[0]?.debug?.reason,
    challenge: response.headers.get('www-authenticate'),
    nonce: response.headers.get('dpop-nonce'),
  }
}

const callWith = (dpop: string, at = instance.keyturn) => call({ authorization: `DPoP ${token}`, dpop }, at)
const challenge = (error: string) =>
  expect.stringMatching(new RegExp(`^DPoP error="${error}", algs="ES256 [\\w ]+", resource_metadata="`))

describe('a bound token at the API [RFC 9449 §7]', () => {
  it.each(Object.keys(TRANSPORTS) as TransportName[])('with a proof is good for a call with %s', async (name) => {
    const prove: Interceptor = (next) => async (req) => {
      // The transport turns the call into a GET after the interceptors.
      const method = name === 'Connect with GET over HTTP/1.1' ? 'GET' : req.requestMethod
      req.header.set('authorization', `DPoP ${token}`)
      req.header.set('dpop', await proof({ url: req.url, method }))
      return next(req)
    }
    const api = createClient(WebKeyService, TRANSPORTS[name](instance.keyturn.baseUrl, [prove]))
    expect((await api.listWebKeys({})).webKeys).toHaveLength(1)
  })

  it('with a proof is good at a REST path, whose method and path the proof must name', async () => {
    const path = '/v2/web_keys'
    const send = async (method: string, htu: string) => {
      const headers = {
        authorization: `DPoP ${token}`,
        dpop: await proof({ url: instance.keyturn.baseUrl + htu, method }),
      }
      return (await fetch(instance.keyturn.listenUrl + path, { headers })).status
    }
    expect(await send('GET', path)).toBe(200)
    // The same URL in other spellings (RFC 3986 §6.2.2).
    expect(await send('GET', '/v2/./web%5fkeys')).toBe(200)
    expect(await send('POST', path)).toBe(401)
    expect(await send('GET', '/zitadel.webkey.v2.WebKeyService/ListWebKeys')).toBe(401)
  })

  it('is refused as a bearer token, with or without a proof [RFC 9449 §7.2]', async () => {
    const refused = { status: 401, reason: 'TOKEN_BOUND', challenge: challenge('invalid_token'), nonce: null }
    expect(await call({ authorization: `Bearer ${token}` })).toEqual(refused)
    expect(await call({ authorization: `Bearer ${token}`, dpop: await proof() })).toEqual(refused)
  })

  it('is refused without a proof', async () => {
    const refused = {
      status: 401,
      reason: 'DPOP_PROOF_INVALID',
      challenge: challenge('invalid_dpop_proof'),
      nonce: null,
    }
    expect(await call({ authorization: `DPoP ${token}` })).toEqual(refused)
  })

  it('is refused with a proof by another key [RFC 9449 §7.1]', async () => {
    const other = await newProofKey()
    expect(await callWith(await proof({}, other))).toMatchObject({
      status: 401,
      reason: 'TOKEN_BOUND',
      challenge: challenge('invalid_token'),
    })
  })

  it.each<[string, () => Promise<string>]>([
    ['without ath', () => proof({ claims: { ath: undefined } })],
    ['with the ath of another token', async () => proof({ accessToken: await boundToken(key) })],
    ['for another method of HTTP', () => proof({ method: 'GET' })],
    [
      'for the address that the request names, which is not the base URL',
      () => proof({ url: url.replace('localhost', '127.0.0.1') }),
    ],
  ])('is refused with a proof %s [RFC 9449 §4.3]', async (_, make) => {
    expect(await callWith(await make())).toMatchObject({
      status: 401,
      reason: 'DPOP_PROOF_INVALID',
      challenge: challenge('invalid_dpop_proof'),
    })
  })

  it('is good once with the same proof, on all replicas [RFC 9449 §11.1]', async () => {
    for (const _ of Array.from({ length: 5 })) {
      const same = await proof()
      const answers = await Promise.all([instance.keyturn, replica, replica].map((at) => callWith(same, at)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    }
  })

  it('needs a nonce in the proof when iat is not recent, which all replicas accept [RFC 9449 §9]', async () => {
    const claims = { iat: Math.floor(Date.now() / 1000) - 3600 }
    const { nonce, ...refused } = await callWith(await proof({ claims }))
    expect(refused).toEqual({ status: 401, reason: 'DPOP_NONCE_REQUIRED', challenge: challenge('use_dpop_nonce') })
    expect(await callWith(await proof({ claims, nonce: nonce! }), replica)).toMatchObject({ status: 200 })
    expect(await callWith(await proof())).toMatchObject({ status: 200, nonce: expect.stringMatching(/^[\w-]{22}$/) })
  })

  it('is refused over gRPC with the challenge and the nonce in the metadata', async () => {
    const claims = { iat: 0 }
    const prove: Interceptor = (next) => async (req) => {
      req.header.set('authorization', `DPoP ${token}`)
      req.header.set('dpop', await proof({ url: req.url, claims }))
      return next(req)
    }
    const api = createClient(WebKeyService, TRANSPORTS['gRPC over h2c'](instance.keyturn.baseUrl, [prove]))
    const error = await api.listWebKeys({}).then(() => undefined, ConnectError.from)
    expect(error?.code).toBe(Code.Unauthenticated)
    expect(error?.metadata.get('www-authenticate')).toEqual(challenge('use_dpop_nonce'))
    expect(error?.metadata.get('dpop-nonce')).toMatch(/^[\w-]{22}$/)
  })
})

describe('a token that is not bound', () => {
  it('is refused with the scheme DPoP [RFC 9449 §7.1]', async () => {
    const { client_id, client_secret } = admin
    const form = { grant_type: 'client_credentials', client_id, client_secret, scope: SERVICE_AUDIENCE_SCOPE }
    const bearer = ((await (await instance.postForm(form)).json()) as { access_token: string }).access_token
    const dpop = await proof({ accessToken: bearer })
    expect(await call({ authorization: `DPoP ${bearer}`, dpop })).toMatchObject({
      status: 401,
      reason: 'TOKEN_INVALID',
    })
    expect(await call({ authorization: `Bearer ${bearer}` })).toMatchObject({ status: 200 })
  })
})

describe('client libraries call the API with bound tokens, unmodified', () => {
  const body = '{}'
  const headers = new Headers({ 'content-type': 'application/json' })

  it('openid-client', async () => {
    const issuer = new URL(instance.keyturn.baseUrl)
    const { client_id, client_secret } = admin
    const configuration = await client.discovery(issuer, client_id, client_secret, undefined, {
      execute: [client.allowInsecureRequests],
    })
    const DPoP = client.getDPoPHandle(configuration, await client.randomDPoPKeyPair('ES256'))
    const tokens = await client.clientCredentialsGrant(configuration, { scope: SERVICE_AUDIENCE_SCOPE }, { DPoP })
    const response = await client.fetchProtectedResource(
      configuration,
      tokens.access_token,
      new URL(url),
      'POST',
      body,
      headers,
      { DPoP },
    )
    expect(response.status).toBe(200)
  })
})
