/**
 * Bound tokens (RFC 9449) with `@keyturn/client` and `@keyturn/verify`, and with oauth4webapi in the place of each.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { connectNodeAdapter, createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import { AuditService } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { createDpopProver } from '../../packages/client/src/dpop.ts'
import {
  API_SCOPE,
  createApi,
  createAuthorizedFetch,
  createTokenInterceptor,
  createTokenSource,
} from '../../packages/client/src/index.ts'
import {
  accessTokenKey,
  connectInterceptor,
  createVerifier,
  expressMiddleware,
  type Verifier,
} from '../../packages/verify/src/index.ts'
import { newProofKey, newRsaProofKey, type ProofKey, type ProofOptions, proofOf } from '../support/dpop.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'
import { ManualRuntime } from '../support/manual-runtime.ts'

const HOUR_MILLIS = 3_600_000

let server: Keyturn
let client: { issuer: string; clientId: string; clientSecret: string }
let tokenEndpoint: string
let userId: string
let key: ProofKey
let token: string

beforeAll(async () => {
  server = await startKeyturnInProcess()
  const admin = await server.admin()
  client = { issuer: server.baseUrl, clientId: admin.client_id, clientSecret: admin.client_secret }
  tokenEndpoint = admin.token_endpoint
  key = await newProofKey()
  token = await boundToken()
  userId = decodeJwt(token).sub!
})

afterAll(() => removeServers(server))

async function requestToken(headers: Record<string, string> = {}): Promise<string> {
  const { clientId: client_id, clientSecret: client_secret } = client
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  const response = await fetch(tokenEndpoint, { method: 'POST', body, headers })
  return ((await response.json()) as { access_token: string }).access_token
}

const boundToken = async (by = key) => requestToken({ dpop: await proofOf(by, { url: tokenEndpoint }) })

/** The project of the administrator, which its tokens are for. */
const audience = () => String([decodeJwt(token).aud].flat()[0])

const verifierAt = (origin: string, runtime?: ManualRuntime): Verifier =>
  createVerifier({ issuer: server.baseUrl, audience: audience(), dpop: { origin } }, runtime)

/** A server with these answers, and its address. */
async function listening(handler: Parameters<typeof createServer>[1]): Promise<{ service: Server; url: string }> {
  const service = createServer({}, handler)
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  return { service, url: `http://127.0.0.1:${(service.address() as AddressInfo).port}` }
}

describe('a token source with dpop', () => {
  it('gets tokens that are bound to a key of its own, and calls the API with them [RFC 9449 §5, §7.1]', async () => {
    const tokens = createTokenSource({ ...client, scope: API_SCOPE, dpop: true })
    expect(decodeJwt(await tokens.token()).cnf).toEqual({ jkt: await tokens.dpop!.thumbprint() })
    const api = createApi({ issuer: server.baseUrl, tokens })
    expect((await api.webKeys.listWebKeys({})).webKeys.length).toBeGreaterThan(0)
    expect((await api.projects.listProjects({})).projects).toHaveLength(1)
  })

  it('works with a clock that is wrong, because it takes the nonces of the server [RFC 9449 §8, §9]', async () => {
    const runtime = new ManualRuntime()
    runtime.advance(-HOUR_MILLIS)
    const keyPair = await generateKeyPair('ES256')
    const { token } = createTokenSource({ ...client, scope: API_SCOPE, dpop: keyPair }, runtime)
    /** With no nonce yet. */
    const tokens = () => ({ token, invalidate: () => {}, dpop: createDpopProver(keyPair, runtime) })
    expect((await createApi({ issuer: server.baseUrl, tokens: tokens() }).webKeys.listWebKeys({})).webKeys).not.toEqual(
      [],
    )
    const call = async (input: string | Request, init: RequestInit = {}) =>
      (await createAuthorizedFetch(tokens(), { origins: [server.baseUrl] })(input, init)).status
    const url = `${server.baseUrl}/iam.webkey.v2.WebKeyService/ListWebKeys`
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    expect(await call(url, { ...request, method: 'post' })).toBe(200)
    expect(await call(new Request(url, request))).toBe(200)
  })

  it('takes no bearer token for a bound one', async () => {
    const bearer = async (input: string | URL | Request, init?: RequestInit) => {
      const headers = new Headers(init?.headers)
      headers.delete('dpop')
      return await fetch(input, { ...init, headers })
    }
    const tokens = createTokenSource({ ...client, dpop: true, fetch: bearer })
    await expect(tokens.token()).rejects.toMatchObject({ code: 'unusable' })
  })
})

describe('a verifier', () => {
  const request = { method: 'GET', url: '/orders?all' }
  const origin = 'https://orders.example.com'
  const url = `${origin}/orders`
  const authenticate = async (
    proof: string | string[] | undefined,
    { by = token, verifier = verifierAt(origin) } = {},
  ) => await verifier.authenticate(`DPoP ${by}`, { ...request, proof })
  const proof = (options: Partial<ProofOptions> = {}, by = key) =>
    proofOf(by, { url, method: 'GET', accessToken: token, ...options })

  it('accepts a bound token with a proof by its key [RFC 9449 §7.1]', async () => {
    expect(await authenticate(await proof())).toMatchObject({ subject: userId })
  })

  it('refuses a bound token as a bearer token, and without options also with a proof [RFC 9449 §7.2]', async () => {
    const bound = { code: 'invalid_token', status: 401, message: 'the access token is bound to a key' }
    const withoutDpop = createVerifier({ issuer: server.baseUrl, audience: audience() })
    for (const verifier of [verifierAt(origin), withoutDpop]) {
      await expect(verifier.verify(token)).rejects.toMatchObject(bound)
      await expect(
        verifier.authenticate(`Bearer ${token}`, { ...request, proof: await proof() }),
      ).rejects.toMatchObject(bound)
    }
    await expect(authenticate(await proof(), { verifier: withoutDpop })).rejects.toMatchObject(bound)
    await expect(verifierAt(origin).authenticate(`DPoP ${token}`)).rejects.toMatchObject(bound)
  })

  it('refuses a proof by another key', async () => {
    const other = await newProofKey()
    await expect(authenticate(await proof({}, other))).rejects.toMatchObject({
      code: 'invalid_token',
      headers: { 'www-authenticate': expect.stringMatching(/^DPoP realm=.* error="invalid_token".* algs="ES256 /) },
    })
  })

  it.each<[string, () => Promise<string | string[] | undefined>]>([
    ['no proof', async () => undefined],
    ['two proofs', async () => [await proof(), await proof()]],
    ['another method', () => proof({ method: 'POST' })],
    ['the ath of another token', async () => proof({ accessToken: await boundToken() })],
    ['no jti', () => proof({ claims: { jti: undefined } })],
    ['an old iat', () => proof({ claims: { iat: Math.floor(Date.now() / 1000) - 61 } })],
    ['PKCS #1 v1.5 as padding', async () => proof({}, await newRsaProofKey('RS256'))],
    ['the key of another in it', async () => proof({ header: { jwk: (await newProofKey()).publicJwk } })],
  ])('refuses %s [RFC 9449 §4.3]', async (_, make) => {
    await expect(authenticate(await make())).rejects.toMatchObject({ code: 'invalid_dpop_proof', status: 401 })
  })

  it('accepts a proof once [RFC 9449 §11.1]', async () => {
    const verifier = verifierAt(origin)
    const same = await proof()
    await authenticate(same, { verifier })
    await expect(authenticate(same, { verifier })).rejects.toMatchObject({
      message: 'the DPoP proof has been used before',
    })
    await authenticate(await proof(), { verifier })
  })

  it('refuses a bearer token with the scheme DPoP', async () => {
    const bearer = await requestToken()
    await expect(authenticate(await proof({ accessToken: bearer }), { by: bearer })).rejects.toMatchObject({
      code: 'invalid_token',
    })
    expect(await verifierAt(origin).authenticate(`Bearer ${bearer}`)).toMatchObject({ subject: userId })
  })
})

describe('a service', () => {
  it('behind the Express middleware takes bound tokens of @keyturn/client and oauth4webapi, also below a router', async () => {
    let verifier: Verifier | undefined
    const { service, url } = await listening((req, res) => {
      // What Express does below a mounted router.
      const mounted = Object.assign(req, { originalUrl: req.url, url: '/' })
      expressMiddleware(verifier!)(mounted, res, () => res.end(verifier!.tokenOf(req).subject))
    })
    try {
      verifier = verifierAt(url)
      const call = createAuthorizedFetch(createTokenSource({ ...client, dpop: true }), { origins: [url] })
      expect(await (await call(`${url}/orders?all`)).text()).toBe(userId)

      const user: oauth.Client = { client_id: client.clientId }
      const options = {
        [oauth.allowInsecureRequests]: true,
        DPoP: oauth.DPoP(user, await oauth.generateKeyPair('ES256')),
      }
      const as = { issuer: server.baseUrl, token_endpoint: tokenEndpoint }
      const authentication = oauth.ClientSecretPost(client.clientSecret)
      const granted = await oauth.clientCredentialsGrantRequest(
        as,
        user,
        authentication,
        new URLSearchParams(),
        options,
      )
      const { access_token } = await oauth.processClientCredentialsResponse(as, user, granted)
      const target = new URL(`${url}/orders`)
      const response = await oauth.protectedResourceRequest(access_token, 'GET', target, undefined, null, options)
      expect(await response.text()).toBe(userId)

      const refused = await fetch(`${url}/orders`, { headers: { authorization: `DPoP ${token}` } })
      expect(refused.status).toBe(401)
      expect(await refused.json()).toMatchObject({ error: 'invalid_dpop_proof' })
    } finally {
      service.close()
      service.closeAllConnections()
    }
  })

  it('of Connect takes calls with bound tokens, and refuses others with a challenge', async () => {
    let verifier: Verifier | undefined
    const seen: (string | undefined)[] = []
    const adapter = connectNodeAdapter({
      interceptors: [(next) => (req) => connectInterceptor(verifier!)(next)(req)],
      routes: (router) =>
        router.rpc(AuditService.method.listAuditEvents, (_, { values }) => {
          seen.push(values.get(accessTokenKey)?.subject)
          return {}
        }),
    })
    const { service, url } = await listening(adapter)
    try {
      verifier = verifierAt(url)
      const tokens = createTokenSource({ ...client, dpop: true })
      const connect = (interceptors: ReturnType<typeof createTokenInterceptor>[]) =>
        createClient(AuditService, createConnectTransport({ baseUrl: url, httpVersion: '1.1', interceptors }))
      await connect([createTokenInterceptor(tokens)]).listAuditEvents({})
      expect(seen).toEqual([userId])

      const withoutProof = connect([
        (next) => (req) => {
          req.header.set('authorization', `DPoP ${token}`)
          return next(req)
        },
      ])
      const refused = await withoutProof.listAuditEvents({}).then(() => undefined, ConnectError.from)
      expect(refused?.code).toBe(Code.Unauthenticated)
      expect(refused?.metadata.get('www-authenticate')).toContain('DPoP realm=')
    } finally {
      service.close()
      service.closeAllConnections()
    }
  })
})
