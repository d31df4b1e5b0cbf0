/**
 * Tokens that are bound to client certificates (RFC 8705 §3), with TLS connections that end at the server.
 */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { certificateOf, type TestCertificate } from '../support/certificates.ts'
import { newProofKey, proofOf } from '../support/dpop.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { fetchWith, presenting, TLS_SETTINGS } from '../support/mtls-client.ts'
import { formOf, type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'

const LIST = 'iam.webkey.v2.WebKeyService/ListWebKeys'
const JSON_CONTENT = { 'content-type': 'application/json' }

let instance: OAuthInstance
/** Takes certificates from its TLS connections. */
let server: Keyturn
/** Takes none. */
let plain: Keyturn
let robot: Robot
let certificate: TestCertificate
let other: TestCertificate

beforeAll(async () => {
  instance = await startOAuthInstance({ ...TLS_SETTINGS, KEYTURN_MTLS: 'tls' })
  server = instance.keyturn
  plain = await instance.startReplica({ KEYTURN_MTLS: 'off' })
  ;[certificate, other] = [certificateOf(), certificateOf()]
  robot = await boundRobot()
})

afterAll(() => instance?.stop())

/** A user whose tokens are bound to certificates, and who may list web keys. */
async function boundRobot(settings: object = { certificateBoundTokens: true }): Promise<Robot> {
  const added = await instance.addRobot({ instanceRoles: ['IAM_OWNER_VIEWER'] })
  const updateMask = Object.keys(settings).join()
  await call('iam.user.v2.ServiceUserService/UpdateServiceUser', { userId: added.userId, ...settings, updateMask })
  return added
}

/** Calls the API as the first administrator. */
async function call(method: string, request: object): Promise<Response> {
  const { client_id, client_secret } = await server.admin()
  const form = { grant_type: 'client_credentials', client_id, client_secret, scope: SERVICE_AUDIENCE_SCOPE }
  const { access_token } = await bodyOf(await post(form))
  const response = await callWith(String(access_token), undefined, { method, request })
  expect(response.status).toBe(200)
  return response
}

async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}

const post = (
  form: Record<string, string>,
  by?: TestCertificate,
  { at = server, headers = {}, path = 'token' }: { at?: Keyturn; headers?: Record<string, string>; path?: string } = {},
) => fetchWith(by)(`${at.listenUrl}/oauth/v2/${path}`, { method: 'POST', body: new URLSearchParams(form), headers })

/** A token for the API. */
async function tokenOf(user: Robot, by?: TestCertificate): Promise<string> {
  const response = await post({ ...formOf(user), scope: SERVICE_AUDIENCE_SCOPE }, by)
  expect(response.status).toBe(200)
  return String((await bodyOf(response)).access_token)
}

const callWith = (
  token: string,
  by?: TestCertificate,
  { at = server, method = LIST, request = {} }: { at?: Keyturn; method?: string; request?: object } = {},
) =>
  fetchWith(by)(`${at.listenUrl}/${method}`, {
    method: 'POST',
    headers: { ...JSON_CONTENT, authorization: `Bearer ${token}` },
    body: JSON.stringify(request),
  })

const confirmationOf = (token: unknown) => decodeJwt(String(token)).cnf

describe('a token request with a client certificate', () => {
  it('gets a bearer token that is bound to the certificate, if the user wants that [RFC 8705 §3, §3.1]', async () => {
    const answer = await bodyOf(await post(formOf(robot), certificate))
    expect(answer.token_type).toBe('Bearer')
    expect(confirmationOf(answer.access_token)).toEqual({ 'x5t#S256': certificate.thumbprint })
  })

  it('of a user who does not want that gets the same token as without, as in a service mesh', async () => {
    const unbound = await instance.addRobot()
    for (const by of [certificate, undefined]) {
      const answer = await bodyOf(await post(formOf(unbound), by))
      expect(answer).toMatchObject({ token_type: 'Bearer' })
      expect(decodeJwt(String(answer.access_token))).not.toHaveProperty('cnf')
    }
  })

  it('without one gets a token that is bound to nothing, unless bound tokens are required', async () => {
    expect(confirmationOf(await tokenOf(robot))).toBeUndefined()
    const strict = await boundRobot({ certificateBoundTokens: true, boundTokensRequired: true })
    expect(await seen(await post(formOf(strict)))).toEqual(refusal(400, 'invalid_request'))
    expect(confirmationOf(await tokenOf(strict, certificate))).toEqual({ 'x5t#S256': certificate.thumbprint })
  })

  it('does not satisfy a user whose tokens must be bound, and not to certificates', async () => {
    const strict = await boundRobot({ boundTokensRequired: true })
    expect(await seen(await post(formOf(strict), certificate))).toEqual(refusal(400, 'invalid_request'))
  })

  it('and with a DPoP proof gets a token that is bound to the key of the proof alone [RFC 9449 §5]', async () => {
    const key = await newProofKey()
    const dpop = await proofOf(key, { url: `${server.baseUrl}/oauth/v2/token` })
    const answer = await bodyOf(await post(formOf(robot), certificate, { headers: { dpop } }))
    expect(answer.token_type).toBe('DPoP')
    expect(confirmationOf(answer.access_token)).toEqual({ jkt: key.jkt })
  })

  it('is not bound by a server that takes no certificates, whatever its connection has', async () => {
    const answer = await bodyOf(await post(formOf(robot), certificate, { at: plain }))
    expect(confirmationOf(answer.access_token)).toBeUndefined()
  })

  it.each(['client-cert', 'x-forwarded-client-cert'])('is not bound to what the header %s says', async (name) => {
    const value = `:${other.der.toString('base64')}:`
    const headers = { [name]: name === 'client-cert' ? value : `Cert="${encodeURIComponent(other.pem)}"` }
    const without = await bodyOf(await post(formOf(robot), undefined, { headers }))
    expect(confirmationOf(without.access_token)).toBeUndefined()
    const answer = await bodyOf(await post(formOf(robot), certificate, { headers }))
    expect(confirmationOf(answer.access_token)).toEqual({ 'x5t#S256': certificate.thumbprint })
  })
})

describe('a token that is bound to a certificate', () => {
  let token: string
  beforeAll(async () => {
    token = await tokenOf(robot, certificate)
  })

  it('is accepted by the API with the certificate, and refused without it or with another one [RFC 8705 §3]', async () => {
    expect((await callWith(token, certificate)).status).toBe(200)
    const sameKey = certificateOf({ key: certificate.key })
    for (const by of [undefined, other, sameKey]) {
      const response = await callWith(token, by)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token"/)
      expect(await response.json()).toMatchObject({
        code: 'unauthenticated',
        details: [{ debug: { reason: 'TOKEN_CERTIFICATE_MISMATCH' } }],
      })
    }
  })

  it.each<[string, (baseUrl: string, nodeOptions: object) => Transport]>([
    ['gRPC', (baseUrl, nodeOptions) => createGrpcTransport({ baseUrl, nodeOptions })],
    [
      'Connect over HTTP/1.1',
      (baseUrl, nodeOptions) => createConnectTransport({ baseUrl, nodeOptions, httpVersion: '1.1' }),
    ],
  ])('is checked over %s', async (_name, transportTo) => {
    const headers = { authorization: `Bearer ${token}` }
    const list = (by?: TestCertificate) =>
      createClient(WebKeyService, transportTo(server.baseUrl, presenting(by))).listWebKeys({}, { headers })
    expect((await list(certificate)).webKeys).toHaveLength(1)
    for (const by of [undefined, other]) {
      const error = await list(by).then(() => undefined, ConnectError.from)
      expect(error?.code).toBe(Code.Unauthenticated)
    }
  })

  it('shows its binding to those who introspect it [RFC 8705 §3.2]', async () => {
    const auditor = await instance.addRobot({ instanceRoles: ['IAM_OWNER_VIEWER'] })
    const { clientId: client_id, clientSecret: client_secret } = auditor
    const answer = await bodyOf(await post({ client_id, client_secret, token }, undefined, { path: 'introspect' }))
    const cnf = { 'x5t#S256': certificate.thumbprint }
    expect(answer).toMatchObject({ active: true, token_type: 'Bearer', cnf })
  })
})

describe('a TLS session', () => {
  /** A request for a token over TLS, with what can be resumed later. */
  async function exchange(by: TestCertificate | undefined, options: object) {
    const { port } = new URL(server.listenUrl)
    const socket: TLSSocket = connect({ port: Number(port), host: '127.0.0.1', ...presenting(by), ...options })
    const sessions: Buffer[] = []
    socket.on('session', (session) => sessions.push(session))
    const body = String(new URLSearchParams(formOf(robot)))
    const head = [
      'POST /oauth/v2/token HTTP/1.1',
      'Host: localhost',
      'Connection: close',
      `Content-Length: ${body.length}`,
    ]
    socket.write(`${[...head, 'Content-Type: application/x-www-form-urlencoded'].join('\r\n')}\r\n\r\n${body}`)
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    await once(socket, 'close')
    const token = /"access_token":"([^"]+)"/.exec(text)?.[1]
    return { cnf: confirmationOf(token), session: sessions.at(-1), resumed: socket.isSessionReused() }
  }

  it.each(['TLSv1.2', 'TLSv1.3'])(
    'of %s is not resumed, so that no request has the certificate of an earlier one',
    async (version) => {
      const options = { maxVersion: version, minVersion: version }
      const first = await exchange(certificate, options)
      expect(first.cnf).toEqual({ 'x5t#S256': certificate.thumbprint })
      const without = await exchange(undefined, { ...options, session: first.session })
      expect(without.cnf).toBeUndefined()
      const again = await exchange(other, { ...options, session: first.session })
      expect(again.cnf).toEqual({ 'x5t#S256': other.thumbprint })
    },
  )
})

describe('clients that are not ours', () => {
  it('discover that tokens can be bound to certificates, of servers that do it [RFC 8705 §3.3]', async () => {
    const at = async ({ listenUrl }: Keyturn) =>
      bodyOf(await fetchWith()(`${listenUrl}/.well-known/oauth-authorization-server`))
    expect(await at(server)).toMatchObject({ tls_client_certificate_bound_access_tokens: true })
    expect(await at(plain)).not.toHaveProperty('tls_client_certificate_bound_access_tokens')
  })

  it('get bound tokens with openid-client', async () => {
    const { clientId, clientSecret } = robot
    const metadata = { use_mtls_endpoint_aliases: true, tls_client_certificate_bound_access_tokens: true }
    const config = await client.discovery(
      new URL(server.baseUrl),
      clientId,
      metadata,
      client.ClientSecretPost(clientSecret),
      {
        [client.customFetch]: fetchWith(certificate) as client.CustomFetch,
      },
    )
    const { access_token } = await client.clientCredentialsGrant(config, { scope: SERVICE_AUDIENCE_SCOPE })
    expect(confirmationOf(access_token)).toEqual({ 'x5t#S256': certificate.thumbprint })
    const url = new URL(`${server.baseUrl}/${LIST}`)
    const headers = new Headers(JSON_CONTENT)
    const response = await client.fetchProtectedResource(config, access_token, url, 'POST', '{}', headers)
    expect(response.status).toBe(200)
  })
})
