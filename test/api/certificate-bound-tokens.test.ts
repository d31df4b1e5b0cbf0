/**
 * Tokens that are bound to client certificates (RFC 8705 §3), with TLS connections that end at the server.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { credentials, Client as GrpcJsClient, Metadata, type ServiceError } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, exportJWK, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { authorityOf, certificateOf, newKey, type TestCertificate } from '../support/certificates.ts'
import { newProofKey, proofOf } from '../support/dpop.ts'
import { eventually } from '../support/eventually.ts'
import { missing } from '../support/foreign-tools.ts'
import { type Keyturn, removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { fetchWith, overHttp2, presenting, TLS_SETTINGS } from '../support/mtls-client.ts'
import {
  basicCredentials,
  formOf,
  type OAuthInstance,
  type Robot,
  refusal,
  seen,
  startOAuthInstance,
} from '../support/oauth-instance.ts'
import { itUnless } from '../support/unless.ts'

const LIST = 'iam.webkey.v2.WebKeyService/ListWebKeys'
const JSON_CONTENT = { 'content-type': 'application/json' }
const FORM_CONTENT = { 'content-type': 'application/x-www-form-urlencoded' }

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

  it('gets one with HTTP Basic, and over HTTP/2', async () => {
    const authorization = basicCredentials(robot.clientId, robot.clientSecret)
    const grant = { grant_type: 'client_credentials' }
    const basic = await bodyOf(await post(grant, certificate, { headers: { authorization } }))
    expect(confirmationOf(basic.access_token)).toEqual({ 'x5t#S256': certificate.thumbprint })
    const { body } = await overHttp2(`${server.listenUrl}/oauth/v2/token`, {
      certificate: other,
      headers: FORM_CONTENT,
      body: String(new URLSearchParams(formOf(robot))),
    })
    expect(confirmationOf(JSON.parse(body).access_token)).toEqual({ 'x5t#S256': other.thumbprint })
  })

  it('may have one that nothing trusts, with any kind of key, also one that has expired', async () => {
    const authority = authorityOf('an authority')
    const expired = { notBefore: new Date(0), notAfter: new Date(1) }
    for (const by of [
      certificateOf({ key: newKey('rsa') }),
      certificateOf({ key: newKey('ed25519') }),
      certificateOf({ issuer: authority, ...expired }),
    ]) {
      const bound = await tokenOf(robot, by)
      expect(confirmationOf(bound)).toEqual({ 'x5t#S256': by.thumbprint })
      expect((await callWith(bound, by)).status).toBe(200)
    }
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

  it('is bound by each request alone, when two users share one connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const unbound = await instance.addRobot()
    const ask = async (user: Robot) => {
      const body = new URLSearchParams(formOf(user))
      const response = await fetchWith(certificate, { agent })(`${server.listenUrl}/oauth/v2/token`, {
        method: 'POST',
        body,
      })
      return confirmationOf((await bodyOf(response)).access_token)
    }
    const bound = { 'x5t#S256': certificate.thumbprint }
    expect([await ask(robot), await ask(unbound), await ask(robot)]).toEqual([bound, undefined, bound])
    agent.destroy()
  })

  it('is bound too where only clients of an authority may connect (KEYTURN_TLS_CLIENT_CA_FILE)', async () => {
    const folder = await temporaryFolder()
    const authority = authorityOf('an authority')
    const caFile = join(folder, 'ca.pem')
    await writeFile(caFile, authority.pem)
    const strict = await instance.startReplica({ KEYTURN_TLS_CLIENT_CA_FILE: caFile })
    const admitted = certificateOf({ issuer: authority })
    const answer = await bodyOf(await post(formOf(robot), admitted, { at: strict }))
    expect(confirmationOf(answer.access_token)).toEqual({ 'x5t#S256': admitted.thumbprint })
    for (const by of [certificate, undefined]) await expect(post(formOf(robot), by, { at: strict })).rejects.toThrow()
    await removeFolder(folder)
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

  it('is refused by another server without it, also by one that takes no certificates', async () => {
    const replica = await instance.startReplica()
    expect((await callWith(token, certificate, { at: replica })).status).toBe(200)
    expect((await callWith(token, undefined, { at: replica })).status).toBe(401)
    expect((await callWith(token, certificate, { at: plain })).status).toBe(401)
  })

  it('is refused with the scheme DPoP', async () => {
    const dpop = await proofOf(await newProofKey(), { url: `${server.baseUrl}/${LIST}`, accessToken: token })
    const response = await fetchWith(certificate)(`${server.listenUrl}/${LIST}`, {
      method: 'POST',
      headers: { ...JSON_CONTENT, authorization: `DPoP ${token}`, dpop },
      body: '{}',
    })
    expect(response.status).toBe(401)
  })

  it.each<[string, (baseUrl: string, nodeOptions: object) => Transport]>([
    ['gRPC', (baseUrl, nodeOptions) => createGrpcTransport({ baseUrl, nodeOptions })],
    ['gRPC-Web', (baseUrl, nodeOptions) => createGrpcWebTransport({ baseUrl, nodeOptions, httpVersion: '1.1' })],
    [
      'Connect over HTTP/1.1',
      (baseUrl, nodeOptions) => createConnectTransport({ baseUrl, nodeOptions, httpVersion: '1.1' }),
    ],
    [
      'Connect over HTTP/2',
      (baseUrl, nodeOptions) => createConnectTransport({ baseUrl, nodeOptions, httpVersion: '2' }),
    ],
    [
      'Connect with GET',
      (baseUrl, nodeOptions) => createConnectTransport({ baseUrl, nodeOptions, httpVersion: '1.1', useHttpGet: true }),
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

  it('is checked for clients of @grpc/grpc-js', async () => {
    const list = (by: TestCertificate) => {
      const { cert = '', key = '' } = presenting(by) as { cert?: string; key?: string }
      const verifyOptions = { rejectUnauthorized: false }
      const secure = credentials.createSsl(null, Buffer.from(key), Buffer.from(cert), verifyOptions)
      const grpc = new GrpcJsClient(new URL(server.baseUrl).host, secure)
      const metadata = new Metadata()
      metadata.set('authorization', `Bearer ${token}`)
      return new Promise<number>((resolve) => {
        const done = (error: ServiceError | null) => {
          grpc.close()
          resolve(error?.code ?? 0)
        }
        const asIs = (bytes: Buffer) => bytes
        grpc.makeUnaryRequest(`/${LIST}`, asIs, asIs, Buffer.alloc(0), metadata, done)
      })
    }
    expect(await list(certificate)).toBe(0)
    expect(await list(other)).toBe(Code.Unauthenticated)
  })

  it('shows its binding to those who introspect it [RFC 8705 §3.2]', async () => {
    const auditor = await instance.addRobot({ instanceRoles: ['IAM_OWNER_VIEWER'] })
    const { clientId: client_id, clientSecret: client_secret } = auditor
    const answer = await bodyOf(await post({ client_id, client_secret, token }, undefined, { path: 'introspect' }))
    const cnf = { 'x5t#S256': certificate.thumbprint }
    expect(answer).toMatchObject({ active: true, token_type: 'Bearer', cnf })
  })

  it('is an audit event when it comes without its certificate', async () => {
    await callWith(token, other)
    await eventually(async () => {
      const response = await call('iam.audit.v2.AuditService/ListAuditEvents', { pageSize: 100 })
      const { events } = (await response.json()) as { events: { outcome: string; action: string }[] }
      expect(events).toContainEqual(expect.objectContaining({ outcome: 'TOKEN_CERTIFICATE_MISMATCH', action: LIST }))
    })
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

  itUnless(missing({ needs: { curl: 'curl --version' } }))(
    'get bound tokens with curl, and call the API with them',
    async () => {
      const folder = await temporaryFolder()
      const [cert, key] = [join(folder, 'client.pem'), join(folder, 'client.key')]
      await writeFile(cert, certificate.pem)
      await writeFile(key, certificate.keyPem)
      const curl = async (...args: string[]) => {
        const tls = ['-s', '--cacert', TLS_SETTINGS.KEYTURN_TLS_CERT_FILE, '--cert', cert, '--key', key]
        return (await promisify(execFile)('curl', [...tls, ...args])).stdout
      }
      const body = String(new URLSearchParams({ ...formOf(robot), scope: SERVICE_AUDIENCE_SCOPE }))
      const { access_token } = JSON.parse(await curl(`${server.baseUrl}/oauth/v2/token`, '-d', body))
      expect(confirmationOf(access_token)).toEqual({ 'x5t#S256': certificate.thumbprint })
      const headers = ['-H', `authorization: Bearer ${access_token}`, '-H', 'content-type: application/json']
      expect(JSON.parse(await curl(`${server.baseUrl}/${LIST}`, ...headers, '-d', '{}'))).toHaveProperty('webKeys')
      await removeFolder(folder)
    },
  )

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

  it('get bound tokens with openid-client and private_key_jwt, as FAPI 2.0 asks for', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const publicJwk = JSON.stringify(await exportJWK(publicKey))
    await call('iam.user.v2.ServiceUserService/AddUserKey', { userId: robot.userId, publicJwk })
    const authentication = client.PrivateKeyJwt(privateKey)
    const config = await client.discovery(new URL(server.baseUrl), robot.clientId, undefined, authentication, {
      [client.customFetch]: fetchWith(certificate) as client.CustomFetch,
    })
    const { access_token } = await client.clientCredentialsGrant(config)
    expect(confirmationOf(access_token)).toEqual({ 'x5t#S256': certificate.thumbprint })
  })

  it('get bound tokens with oauth4webapi', async () => {
    const issuer = new URL(server.baseUrl)
    const options = { [oauth.customFetch]: fetchWith(certificate), algorithm: 'oauth2' as const }
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
    const user = { client_id: robot.clientId, use_mtls_endpoint_aliases: true }
    const authentication = oauth.ClientSecretPost(robot.clientSecret)
    const scope = new URLSearchParams({ scope: SERVICE_AUDIENCE_SCOPE })
    const granted = await oauth.clientCredentialsGrantRequest(as, user, authentication, scope, options)
    const { access_token } = await oauth.processClientCredentialsResponse(as, user, granted)
    expect(confirmationOf(access_token)).toEqual({ 'x5t#S256': certificate.thumbprint })
    const url = new URL(`${server.baseUrl}/${LIST}`)
    const headers = new Headers(JSON_CONTENT)
    const response = await oauth.protectedResourceRequest(access_token, 'POST', url, headers, '{}', options)
    expect(response.status).toBe(200)
  })
})
