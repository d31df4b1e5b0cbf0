/**
 * `@keyturn/client` against a real server, judged by jose and openid-client.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
} from 'jose'
import { allowInsecureRequests, clientCredentialsGrant, discovery } from 'openid-client'
import {
  API_SCOPE,
  type Api,
  betaWebKey,
  createApi,
  createAuthorizedFetch,
  createTokenSource,
  reasonOf,
  type TokenSource,
} from '../../packages/client/src/index.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'

let server: Keyturn
let issuer: string
let admin: { clientId: string; clientSecret: string }
let tokens: TokenSource
let api: Api

beforeAll(async () => {
  server = await startKeyturnInProcess({ env: { KEYTURN_ACTIVATION_GUARD: 'off' } })
  issuer = server.baseUrl
  const { client_id: clientId, client_secret: clientSecret } = await server.admin()
  admin = { clientId, clientSecret }
})
beforeEach(connect)

function connect(): void {
  tokens = createTokenSource({ issuer, ...admin, scope: API_SCOPE })
  api = createApi({ issuer, tokens })
}
afterAll(() => removeServers(server))

/** The claims, if jose accepts the token with the published keys. */
async function judged(token: string): Promise<Record<string, unknown>> {
  const keySet = createRemoteJWKSet(new URL('/.well-known/jwks.json', issuer))
  const { payload } = await jwtVerify(token, keySet, { issuer, typ: 'at+jwt' })
  return payload
}

async function listWith(token: string): Promise<number> {
  const response = await fetch(`${issuer}/iam.webkey.v2.WebKeyService/ListWebKeys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  await response.body?.cancel()
  return response.status
}

/** A new service user of a new project. */
async function newUser(): Promise<{ userId: string; clientId: string }> {
  const name = `p-${crypto.randomUUID().slice(0, 8)}`
  const { project } = await api.projects.createProject({ name })
  const { serviceUser } = await api.serviceUsers.createServiceUser({
    projectId: project!.projectId,
    name: 'robot',
    clientCredentialsEnabled: true,
  })
  return serviceUser!
}

describe('a token source', () => {
  it('gets the same kind of token as openid-client', async () => {
    const config = await discovery(new URL(issuer), admin.clientId, admin.clientSecret, undefined, {
      execute: [allowInsecureRequests],
    })
    const other = await clientCredentialsGrant(config, { scope: API_SCOPE })
    const varying = { iat: expect.any(Number), exp: expect.any(Number), jti: expect.any(String) }
    expect(await judged(await tokens.token())).toEqual({ ...decodeJwt(other.access_token), ...varying })
  })

  describe.each(['RS256', 'Ed25519'])('with a private key for %s', (alg) => {
    let privateJwk: JWK
    let privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
    let clientId: string
    beforeAll(async () => {
      connect()
      const pair = await generateKeyPair(alg, { extractable: true })
      privateJwk = await exportJWK(pair.privateKey)
      privateKey = pair.privateKey
      const user = await newUser()
      clientId = user.clientId
      await api.serviceUsers.addUserKey({
        userId: user.userId,
        publicJwk: JSON.stringify(await exportJWK(pair.publicKey)),
      })
    })

    it.each(['JWK', 'CryptoKey'])('signs an assertion for each request, with a %s [RFC 7523 §3]', async (form) => {
      const key = form === 'JWK' ? privateJwk : privateKey
      const requests: URLSearchParams[] = []
      const watched: typeof fetch = (input, init) => {
        if (init?.body instanceof URLSearchParams) requests.push(init.body)
        return fetch(input, init)
      }
      const other = createTokenSource({ issuer, clientId, privateKey: () => key, fetch: watched })
      const token = await other.token()
      expect(await judged(token)).toMatchObject({ client_id: clientId })
      other.invalidate(token)
      expect(await other.token()).not.toBe(token)
      const ids = requests.map((form) => decodeJwt(form.get('client_assertion') ?? '').jti)
      expect(new Set(ids).size).toBe(2)
      expect(requests.map((form) => form.has('client_secret'))).toEqual([false, false])
    })
  })
})

describe('the API', () => {
  it('rotates a key with the four operations of the specification [Spec §4.3]', async () => {
    const [first] = (await api.betaWebKeys.listWebKeys({})).webKeys
    const { details } = await api.betaWebKeys.createWebKey({
      config: { config: { case: 'ecdsa', value: { curve: betaWebKey.EcdsaCurve.P256 } } },
    })
    expect(details?.state).toBe(betaWebKey.State.INITIAL)
    await api.betaWebKeys.activateWebKey({ keyId: details!.keyId })
    const refused = api.betaWebKeys.deleteWebKey({ keyId: details!.keyId })
    expect(await refused.then(() => undefined, reasonOf)).toBe('WEB_KEY_ACTIVE')
    await api.betaWebKeys.deleteWebKey({ keyId: first!.keyId })
    const { webKeys } = await api.webKeys.listWebKeys({})
    expect(webKeys.map(({ keyId, algorithm }) => ({ keyId, algorithm }))).toContainEqual({
      keyId: details!.keyId,
      algorithm: 'ES256',
    })
    expect((await api.audit.listAuditEvents({})).events.length).toBeGreaterThan(3)
  })

  it('is called with another token when the key of the first one was revoked', async () => {
    const before = await tokens.token()
    await api.webKeys.revokeWebKey({ keyId: decodeProtectedHeader(before).kid! })
    expect(await listWith(before)).toBe(401)
    expect((await api.projects.listProjects({})).projects).not.toHaveLength(0)
    expect(await tokens.token()).not.toBe(before)
  })
})

describe('fetch with a token', () => {
  const list = () => `${issuer}/iam.webkey.v2.WebKeyService/ListWebKeys`
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }

  it.each(['the address', 'a Request'])(
    'sends a request again with another token after invalid_token, given %s',
    async (form) => {
      const own = createTokenSource({ issuer, ...admin, scope: API_SCOPE })
      const send = createAuthorizedFetch(own, { origins: [issuer] })
      const before = await own.token()
      await api.webKeys.revokeWebKey({ keyId: decodeProtectedHeader(before).kid! })
      const response = await (form === 'a Request' ? send(new Request(list(), init)) : send(list(), init))
      expect(response.status).toBe(200)
      expect(await response.json()).toHaveProperty('webKeys')
    },
  )

  it('sends no token to another origin', async () => {
    const send = createAuthorizedFetch(tokens, { origins: [issuer] })
    await expect(send('https://evil.example.com/')).rejects.toThrow('is not sent to https://evil.example.com')
  })

  it('sends it to the address that it checked, whatever the caller changes meanwhile', async () => {
    const sent: string[] = []
    const record = async (input: string | URL | Request) => {
      sent.push(input instanceof Request ? input.url : String(input))
      return new Response()
    }
    const send = createAuthorizedFetch(tokens, { origins: [issuer], fetch: record })
    const evil = 'https://evil.example.com/'
    const moving = new URL(list())
    const sending = send(moving)
    moving.host = 'evil.example.com'
    await sending
    const allowedAtFirst = () => {
      const answers = [list()]
      return () => answers.pop() ?? evil
    }
    await send({ toString: allowedAtFirst() } as unknown as URL)
    const posing = Object.defineProperty(new Request(evil), 'url', { get: allowedAtFirst() })
    await expect(send(posing)).rejects.toThrow('is not sent to')
    expect(sent).toEqual([list(), list()])
  })
})
