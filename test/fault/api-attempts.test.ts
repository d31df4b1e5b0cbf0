import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { type ClientHttp2Session, type ClientSessionOptions, connect } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { text } from 'node:stream/consumers'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { ProjectService } from '../../gen/iam/project/v2/project_service_pb.js'
import { type Administration, administrationWith } from '../support/administration.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { describeUnless, NOT_LINUX } from '../support/unless.ts'
import { requestToken } from '../support/web-key-client.ts'

const LIST = '/iam.project.v2.ProjectService/ListProjects'
const MAX_PER_TOKEN = 100
const MAX_PER_ADDRESS = 1000
/** Requests of a connection that are in flight at the same time: of two, more than were looked up and waited in one queue. */
const AT_ONCE = 60

let server: Keyturn
let clientId: string
let admin: Administration
const agents = new Map<string, Agent>()

beforeAll(async () => {
  if (NOT_LINUX !== undefined) return
  server = await startKeyturnInProcess()
  clientId = (await server.admin()).client_id
  admin = administrationWith(server, await newAccessToken())
})

afterAll(async () => {
  for (const agent of agents.values()) agent.destroy()
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
})

async function newAccessToken(): Promise<string> {
  return await requestToken({ ...(await server.admin()), token_endpoint: `${server.listenUrl}/oauth/v2/token` })
}

async function newPersonalAccessToken(): Promise<{ token: string; tokenId: string }> {
  const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
  const created = await admin.users.createPersonalAccessToken({ userId: userIdOf(clientId), expirationDate })
  return { token: created.token, tokenId: created.personalAccessToken!.tokenId }
}

const userIdOf = (client: string) => client.split('@')[0]!
const inventedToken = () => `ktn_pat_${randomBytes(44).toString('base64url')}`
const inventedJwt = () => {
  const [header, payload] = admin.token.split('.')
  return `${header}.${payload}.${randomBytes(64).toString('base64url')}`
}

interface Answer {
  readonly status: number | undefined
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Record<string, unknown>
}

/** Lists projects from an address of this machine, as plain JSON over HTTP/1.1. */
function list(token: string | null, localAddress = '127.0.0.1'): Promise<Answer> {
  const agent = agents.get(localAddress) ?? new Agent({ keepAlive: true, localAddress })
  agents.set(localAddress, agent)
  const headers = {
    'content-type': 'application/json',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(server.listenUrl + LIST, { method: 'POST', headers, agent }, (response) => {
      text(response).then((body) => {
        resolve({ status: response.statusCode, headers: response.headers, body: JSON.parse(body) as Answer['body'] })
      }, reject)
    })
    outgoing.on('error', reject).end('{}')
  })
}

/** Options of an HTTP/2 connection from an address of this machine. */
function http2From(localAddress: string): ClientSessionOptions {
  const { hostname: host, port } = new URL(server.listenUrl)
  return { createConnection: () => connectTcp({ host, port: Number(port), localAddress }) }
}

/** Lists projects on an HTTP/2 connection, and returns the status. */
function listOn(session: ClientHttp2Session, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': LIST,
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
    })
    stream.on('response', (headers) => resolve(Number(headers[':status'])))
    stream.on('error', reject).resume().end('{}')
  })
}

/**
 * Sends tokens on one connection from an address, many at a time, and returns how often it got which status.
 *
 * @param until Ends it before it has sent so many.
 */
async function flood(
  times: number,
  localAddress: string,
  { invent, until }: { readonly invent: () => string; readonly until?: AbortSignal },
): Promise<Record<number, number>> {
  const session = connect(server.listenUrl, http2From(localAddress))
  const statuses: Record<number, number> = {}
  let left = times
  const sendInTurn = async () => {
    while (left > 0 && until?.aborted !== true) {
      left -= 1
      const status = await listOn(session, invent())
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn))
  } finally {
    session.close()
  }
  return statuses
}

/** Calls so often, ten at a time and with each of these tokens in turn, while two connections send invented ones, and returns the statuses. */
async function listWhileFlooded(tokens: readonly string[], times: number, flooders: readonly [string, string]) {
  const done = new AbortController()
  const floods = Promise.all([
    flood(MAX_PER_ADDRESS - 1, flooders[0], { invent: inventedToken, until: done.signal }),
    flood(MAX_PER_ADDRESS - 1, flooders[1], { invent: inventedToken, until: done.signal }),
  ])
  const statuses: (number | undefined)[] = []
  for (let i = 0; i < times; i += 10) {
    const batch = Array.from({ length: 10 }, (_, j) => list(tokens[j % tokens.length]!))
    statuses.push(...(await Promise.all(batch)).map(({ status }) => status))
  }
  done.abort()
  for (const sent of await floods) expect(sent[401]).toBeGreaterThan(0)
  return statuses
}

const infoOf = ({ body }: Answer) =>
  (body.details as { debug?: { reason?: string; metadata?: object } }[] | undefined)?.[0]?.debug

function expectBlocked(answer: Answer): void {
  expect({ status: answer.status, code: answer.body.code, info: infoOf(answer) }).toEqual({
    status: 429,
    code: 'resource_exhausted',
    info: expect.objectContaining({ reason: 'TOO_MANY_FAILURES' }),
  })
  expectRetryAfter(answer.headers['retry-after'])
  expect(answer.headers).not.toHaveProperty('www-authenticate')
}

function expectRetryAfter(value: unknown): void {
  expect(Number(value)).toBeGreaterThan(0)
  expect(Number(value)).toBeLessThanOrEqual(60)
}

describeUnless(NOT_LINUX)('two connections that send invented personal access tokens', () => {
  it('fail no call of callers who prove themselves', async () => {
    const tokens = [(await newPersonalAccessToken()).token, admin.token]
    const statuses = await listWhileFlooded(tokens, 60, ['127.0.0.2', '127.0.0.3'])
    expect(statuses).toEqual(Array.from({ length: 60 }, () => 200))
  })
})

describeUnless(NOT_LINUX)('an address from which too many authentications at the API have failed', () => {
  const BLOCKED = '127.0.1.1'
  let revoked: string
  let unused: string
  let unproved: string

  beforeAll(async () => {
    const { token, tokenId } = await newPersonalAccessToken()
    revoked = token
    await admin.users.revokePersonalAccessToken({ userId: userIdOf(clientId), tokenId })
    unused = (await newPersonalAccessToken()).token
    unproved = await newAccessToken()
    const kinds = [inventedToken, inventedJwt, () => randomBytes(8).toString('hex')]
    let sent = 0
    const statuses = await flood(MAX_PER_ADDRESS, BLOCKED, { invent: () => kinds[sent++ % kinds.length]!() })
    expect(statuses).toEqual({ 401: MAX_PER_ADDRESS })
  })

  it('gets 429 with Retry-After, over plain JSON [RFC 6585 §4]', async () => {
    for (const invent of [inventedToken, inventedJwt]) expectBlocked(await list(invent(), BLOCKED))
    // Whether it is good would have to be looked at.
    expectBlocked(await list(unproved, BLOCKED))
  })

  it.each<[string, (interceptors: Interceptor[]) => Transport]>([
    [
      'Connect',
      (interceptors) =>
        createConnectTransport({
          baseUrl: server.listenUrl,
          httpVersion: '1.1',
          nodeOptions: { localAddress: BLOCKED },
          interceptors,
        }),
    ],
    [
      'gRPC',
      (interceptors) =>
        createGrpcTransport({ baseUrl: server.listenUrl, nodeOptions: http2From(BLOCKED), interceptors }),
    ],
  ])('gets RESOURCE_EXHAUSTED with retry-after, over %s', async (_, transport) => {
    const authenticate: Interceptor = (next) => (req) => {
      req.header.set('authorization', `Bearer ${inventedToken()}`)
      return next(req)
    }
    const client = createClient(ProjectService, transport([authenticate]))
    const error = ConnectError.from(await client.listProjects({}).catch((thrown: unknown) => thrown))
    expect(error.code).toBe(Code.ResourceExhausted)
    expect(error.findDetails(ErrorInfoSchema)[0]).toMatchObject({
      reason: 'TOO_MANY_FAILURES',
      metadata: { retry_after_seconds: error.metadata.get('retry-after') },
    })
    expectRetryAfter(error.metadata.get('retry-after'))
  })

  it('gets no access token either: it has one budget for both', async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const options = { method: 'POST', headers, localAddress: BLOCKED }
      const outgoing = request(`${server.listenUrl}/oauth/v2/token`, options, (response) =>
        resolve(response.resume().statusCode),
      )
      outgoing.on('error', reject).end(`grant_type=client_credentials&client_id=${clientId}&client_secret=x`)
    })
    expect(status).toBe(429)
  })

  it('is still told that a token is missing', async () => {
    expect((await list(null, BLOCKED)).status).toBe(401)
  })

  it('is served with tokens that are good, and that this takes no work to see', async () => {
    // Each has been accepted from another address.
    for (const proved of [admin.token, unused]) {
      expect((await list(proved, BLOCKED)).status).toBe(200)
    }
    expect((await list(revoked, BLOCKED)).status).toBe(401)
    expectBlocked(await list(revoked, BLOCKED))
  })

  it('does not block other addresses', async () => {
    expect((await list(unproved, '127.0.1.2')).status).toBe(200)
    expect((await list(inventedToken(), '127.0.1.2')).status).toBe(401)
  })
})

describeUnless(NOT_LINUX)('a token that has failed too often from one address', () => {
  it('gets 429 there, so that a client that does not stop does not block the others there', async () => {
    const address = '127.0.1.3'
    const wrong = inventedToken()
    expect(await flood(MAX_PER_ADDRESS + MAX_PER_TOKEN, address, { invent: () => wrong })).toMatchObject({
      429: expect.any(Number),
    })
    expectBlocked(await list(wrong, address))
    expect((await list(await newAccessToken(), address)).status).toBe(200)
    expect((await list(wrong, '127.0.1.4')).status).toBe(401)
  })
})
