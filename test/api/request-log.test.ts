import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { administrationOf } from '../support/administration.ts'
import { newCode, openBrowser, PAGE } from '../support/console-browser.ts'
import { eventually } from '../support/eventually.ts'
import { callWithGrpcJs } from '../support/grpc-js.ts'
import {
  type AdminCredentials,
  type Keyturn,
  removeServers,
  requestToken,
  startKeyturnInProcess,
} from '../support/keyturn.ts'

const PROXY = { KEYTURN_TRUSTED_PROXIES: '127.0.0.0/8,::1' }
const CLIENT_ADDRESS = '203.0.113.7'
const KEY_SET = '/.well-known/openid-configuration/jwks'

let server: Keyturn
let admin: AdminCredentials
let adminId: string

beforeAll(async () => {
  server = await startKeyturnInProcess({ env: PROXY })
  admin = await server.admin()
  adminId = admin.client_id.split('@')[0] ?? ''
})

afterAll(() => removeServers(server))

type Line = Record<string, unknown>

function linesOf(keyturn: Keyturn): Line[] {
  const { stderr } = keyturn.output()
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
    .filter(({ msg }) => msg === 'request')
}

/** The line of the request that its client calls that. */
function lineOf(clientRequestId: string, keyturn = server): Promise<Line> {
  return eventually(() => {
    const found = linesOf(keyturn).filter((line) => line.clientRequestId === clientRequestId)
    expect(found).toHaveLength(1)
    return found[0] ?? {}
  })
}

/** Sends a request with an id and returns its line. */
async function logged(path: string, init: RequestInit = {}, keyturn = server): Promise<Line> {
  const clientRequestId = randomUUID()
  const headers = { 'x-request-id': clientRequestId, 'x-forwarded-for': CLIENT_ADDRESS, ...init.headers }
  const response = await fetch(keyturn.listenUrl + path, { ...init, headers })
  await response.text()
  const line = await lineOf(clientRequestId, keyturn)
  // The id in the answer is the one by which the log, errors and the audit trail name a request.
  expect(line.requestId).toBe(response.headers.get('x-request-id'))
  expect(line.requestId).not.toBe(clientRequestId)
  return line
}

function tokenRequest(form: Record<string, string>): RequestInit {
  return { method: 'POST', body: new URLSearchParams({ grant_type: 'client_credentials', ...form }) }
}

describe('the log has one line for', () => {
  it('a token request that was granted', async () => {
    const { client_id, client_secret } = admin
    const line = await logged('/oauth/v2/token', tokenRequest({ client_id, client_secret }))
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      method: 'POST',
      route: '/oauth/v2/token',
      status: 200,
      milliseconds: expect.any(Number),
      clientId: client_id,
      address: CLIENT_ADDRESS,
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      clientRequestId: expect.any(String),
      msg: 'request',
    })
  })

  it('a token request that was refused, with the reason', async () => {
    const { client_id } = admin
    const wrong = await logged('/oauth/v2/token', tokenRequest({ client_id, client_secret: 'hunter2' }))
    expect(wrong).toMatchObject({ status: 401, failure: 'invalid_client', clientId: client_id })
    const malformed = await logged('/oauth/v2/token', { method: 'POST', body: 'x' })
    expect(malformed).toMatchObject({ status: 400, failure: 'invalid_request' })
    expect(server.output().stderr).not.toContain('hunter2')
  })

  it('a call of the API, with the user and the reason of a refusal', async () => {
    const token = await requestToken(admin)
    const call = (name: string, body: string, authorization = `Bearer ${token}`) =>
      logged(`/iam.webkey.v2beta.WebKeyService/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body,
      })
    expect(await call('ListWebKeys', '{}')).toMatchObject({ status: 200, clientId: adminId })
    expect(await call('ListWebKeys', '{}', 'Bearer x')).toMatchObject({ status: 401, failure: 'TOKEN_INVALID' })
    const id = 'A'.repeat(43)
    expect(await call('DeleteWebKey', JSON.stringify({ keyId: id }))).toMatchObject({
      status: 404,
      failure: 'WEB_KEY_NOT_FOUND',
    })
    expect(await call('DeleteWebKey', '{')).toMatchObject({
      status: 400,
      failure: 'INVALID_ARGUMENT',
      clientId: adminId,
    })
    expect(server.output().stderr).not.toContain(token)
  })

  it('a gRPC call, whose status is always 200, with the reason of its refusal', async () => {
    const before = linesOf(server).length
    const call = callWithGrpcJs(server.listenUrl, await requestToken(admin), WebKeyService.method.deleteWebKey, {
      keyId: 'A'.repeat(43),
    })
    await expect(call).rejects.toThrow()
    await eventually(() => {
      expect(linesOf(server).slice(before)).toContainEqual(
        expect.objectContaining({
          route: '/iam.webkey.v2beta.WebKeyService/DeleteWebKey',
          status: 200,
          failure: 'WEB_KEY_NOT_FOUND',
          clientId: adminId,
          address: '127.0.0.1',
        }),
      )
    })
  })
})

describe('probes and documents', () => {
  it('are not in the log unless the documents were refused', async () => {
    for (const path of ['/healthz', '/readyz', KEY_SET, '/oauth/v2/keys', '/.well-known/jwks.json'])
      await (await fetch(server.listenUrl + path)).text()
    expect(await logged(KEY_SET, { method: 'POST' })).toMatchObject({ route: KEY_SET, status: 405 })
    expect(linesOf(server).map(({ route }) => route)).not.toContain('/healthz')
    expect(linesOf(server).filter(({ method, status }) => method === 'GET' && status === 200)).toEqual([])
  })
})

describe('what an open console asks every second', () => {
  it('is not in the log unless it was refused, and what a person does there is, without code and cookie', async () => {
    const path = '/console/api/iam.instance.v2.InstanceService/GetInstance'
    const browser = openBrowser(server)
    const code = await newCode(await administrationOf(server))
    await browser.signIn(code)
    expect((await browser.call('iam.instance.v2.InstanceService/GetInstance')).status).toBe(200)
    const headers = { cookie: browser.cookie!, ...PAGE }
    expect(await logged('/console/session', { headers })).toMatchObject({ status: 200, clientId: adminId })
    expect(linesOf(server).map(({ route }) => route)).not.toContain(path)
    const refused = await logged(path, {
      method: 'POST',
      headers: { ...PAGE, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(refused).toMatchObject({ route: path, status: 401, failure: 'CONSOLE_SESSION_INVALID' })
    expect(await logged(path, { method: 'POST', headers: { cookie: browser.cookie! } })).toMatchObject({
      status: 403,
      failure: 'CROSS_ORIGIN',
    })
    const { stderr } = server.output()
    for (const secret of [code, browser.cookie!.split('=')[1]!]) expect(stderr).not.toContain(secret)
  })
})
