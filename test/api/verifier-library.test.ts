/**
 * `@keyturn/verify` against a real server: tokens that openid-client got, and tokens that nobody should accept.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect'
import { connectNodeAdapter, createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { allowInsecureRequests, clientCredentialsGrant, discovery } from 'openid-client'
import { AuditService } from '../../gen/iam/audit/v2/audit_service_pb.js'
import {
  accessTokenKey,
  connectInterceptor,
  createVerifier,
  expressMiddleware,
  type Verifier,
  type VerifierOptions,
} from '../../packages/verify/src/index.ts'
import { type Administration, administrationOf } from '../support/administration.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'
import { ManualRuntime } from '../support/manual-runtime.ts'

const ROLES = 'urn:service:iam:org:projects:roles'

let server: Keyturn
let admin: Administration
let projectId: string
let robot: { userId: string; clientId: string; clientSecret: string }
let runtime: ManualRuntime

beforeAll(async () => {
  server = await startKeyturnInProcess({ env: { KEYTURN_ACTIVATION_GUARD: 'off' } })
  admin = await administrationOf(server)
  projectId = (await admin.projects.createProject({ name: 'shop' })).project!.projectId
  await admin.projects.addProjectRole({ projectId, role: 'reader' })
  await admin.projects.addProjectScope({ projectId, scope: 'orders:read' })
  const { serviceUser } = await admin.users.createServiceUser({
    projectId,
    name: 'robot',
    clientCredentialsEnabled: true,
  })
  const { userId, clientId } = serviceUser!
  await admin.users.grantProjectRole({ userId, projectId, role: 'reader' })
  await admin.users.grantScope({ userId, scope: 'orders:read' })
  const { clientSecret } = await admin.users.generateClientSecret({ userId })
  robot = { userId, clientId, clientSecret }
})
beforeEach(() => {
  runtime = new ManualRuntime()
})
afterAll(() => removeServers(server))

function verifier(options: Partial<VerifierOptions> = {}): Verifier {
  return createVerifier({ issuer: server.baseUrl, audience: projectId, ...options }, runtime)
}

/** A token that openid-client gets. */
async function token(scope = `openid orders:read ${ROLES}`): Promise<string> {
  const config = await discovery(new URL(server.baseUrl), robot.clientId, robot.clientSecret, undefined, {
    execute: [allowInsecureRequests],
  })
  return (await clientCredentialsGrant(config, { scope })).access_token
}

const invalid = (message = 'the access token is not valid') =>
  expect.objectContaining({ code: 'invalid_token', status: 401, message })

describe('a verifier', () => {
  it('says what a good token says', async () => {
    const jwt = await token()
    const claims = decodeJwt(jwt)
    expect(await verifier().verify(jwt)).toEqual({
      subject: robot.userId,
      clientId: robot.clientId,
      scopes: ['openid', 'orders:read', ROLES],
      roles: ['reader'],
      expiresAt: new Date(claims.exp! * 1000),
      claims,
    })
  })

  it('refuses a token for another service, and says so to its holder', async () => {
    const jwt = await token('urn:service:iam:org:project:id:service:aud')
    await expect(verifier().verify(jwt)).rejects.toEqual(invalid('the access token is meant for another service'))
  })

  it('requires scopes and roles, all of them, also of one route alone', async () => {
    const [jwt, plain] = [await token(), await token('openid')]
    const own = verifier({ requiredScopes: ['orders:read'], requiredRoles: ['reader'] })
    await own.verify(jwt)
    await expect(own.verify(plain)).rejects.toMatchObject({
      code: 'insufficient_scope',
      status: 403,
      headers: {
        'www-authenticate': `Bearer realm="${server.baseUrl}", error="insufficient_scope", error_description="the access token lacks a required scope", scope="orders:read"`,
      },
    })
    const writer = own.requiring({ requiredRoles: ['reader', 'writer'] })
    await expect(writer.verify(jwt)).rejects.toMatchObject({
      code: 'insufficient_scope',
      message: 'the access token lacks a required role',
    })
    expect(await own.requiring({}).verify(plain)).toMatchObject({ roles: [] })
  })
})

describe('a rotation to another kind of key', () => {
  it.each([['EdDSA', { case: 'ed25519', value: {} }]] as const)('to %s needs no restart', async (algorithm, config) => {
    const own = verifier()
    const before = await token()
    await own.verify(before)
    const { details } = await admin.webKeys.createWebKey({ config: { config } })
    await admin.webKeys.activateWebKey({ keyId: details!.keyId })
    const after = await token()
    expect(decodeProtectedHeader(after).alg).toBe(algorithm)
    runtime.advance(5_000)
    expect(await own.verify(after)).toMatchObject({ subject: robot.userId })
    expect(await own.verify(before)).toMatchObject({ subject: robot.userId })
  })

  it('ends the trust in a key that is revoked when the copy of the JWKS expires', async () => {
    const own = verifier()
    const jwt = await token()
    await own.verify(jwt)
    await admin.keys.revokeWebKey({ keyId: decodeProtectedHeader(jwt).kid! })
    await own.verify(jwt)
    runtime.advance(300_000)
    await expect(own.verify(jwt)).rejects.toEqual(invalid())
  })
})

describe('a service', () => {
  let service: Server
  let url: string
  let guard: ReturnType<typeof expressMiddleware>
  let own: Verifier
  beforeAll(async () => {
    own = verifier({ requiredScopes: ['orders:read'] })
    guard = expressMiddleware(own)
    service = createServer((request, response) =>
      guard(request, response, () => response.end(own.tokenOf(request).subject)),
    )
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  })
  afterAll(() => {
    service.closeAllConnections()
    service.close()
  })

  const call = async (authorization?: string) => {
    const response = await fetch(url, authorization === undefined ? {} : { headers: { authorization } })
    const challenge = response.headers.get('www-authenticate')
    return { status: response.status, challenge, body: await response.text() }
  }

  it('behind the middleware gets requests with good tokens', async () => {
    expect(await call(`Bearer ${await token()}`)).toEqual({ status: 200, challenge: null, body: robot.userId })
  })

  it('behind the middleware gets no others, which are answered [RFC 6750 §3]', async () => {
    expect(await call()).toEqual({
      status: 401,
      challenge: `Bearer realm="${server.baseUrl}"`,
      body: '{"error_description":"an access token is required"}',
    })
    expect(await call('Bearer x')).toMatchObject({
      status: 401,
      body: '{"error":"invalid_token","error_description":"the access token is not valid"}',
    })
    expect(await call(`Bearer ${await token('openid')}`)).toMatchObject({
      status: 403,
      challenge: expect.stringContaining('scope="orders:read"'),
    })
  })
})

describe('a Connect service behind the interceptor', () => {
  let service: Server
  let url: string
  const seen: (string | undefined)[] = []
  beforeAll(async () => {
    const adapter = connectNodeAdapter({
      interceptors: [connectInterceptor(verifier({ requiredRoles: ['reader'] }))],
      routes: (router) =>
        router.rpc(AuditService.method.listAuditEvents, (_, { values }) => {
          seen.push(values.get(accessTokenKey)?.subject)
          return {}
        }),
    })
    service = createServer(adapter)
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  })
  afterAll(() => {
    service.closeAllConnections()
    service.close()
  })
  afterEach(() => {
    seen.length = 0
  })

  async function outcome(jwt: string | undefined): Promise<ConnectError | 'admitted'> {
    const send: Interceptor = (next) => (request) => {
      if (jwt !== undefined) request.header.set('authorization', `Bearer ${jwt}`)
      return next(request)
    }
    const client = createClient(
      AuditService,
      createConnectTransport({ baseUrl: url, httpVersion: '1.1', interceptors: [send] }),
    )
    return await client.listAuditEvents({}).then(() => 'admitted' as const, ConnectError.from)
  }

  it('gets calls with good tokens', async () => {
    expect(await outcome(await token())).toBe('admitted')
    expect(seen).toEqual([robot.userId])
  })

  it.each<[Code, string | null, () => Promise<string | undefined>]>([
    [Code.Unauthenticated, 'Bearer realm=', async () => undefined],
    [Code.Unauthenticated, 'error="invalid_token"', async () => 'x'],
    [Code.PermissionDenied, 'error="insufficient_scope"', async () => await token('openid')],
  ])('gets no others, which have code %d and the challenge %s', async (code, challenge, jwt) => {
    const refused = (await outcome(await jwt())) as ConnectError
    expect(refused.code).toBe(code)
    expect(refused.metadata.get('www-authenticate')).toContain(challenge)
    expect(seen).toEqual([])
  })
})
