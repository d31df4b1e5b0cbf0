/**
 * Every refusal that the port gives over HTTP has a body that says what was expected, in the form of the protocol of its path.
 */
import { once } from 'node:events'
import { type IncomingMessage, request as request1 } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import {
  collect,
  type Keyturn,
  removeFolder,
  removeServers,
  requestToken,
  spawnKeyturn,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'

const TOKEN = '/oauth/v2/token'
const JWKS = '/.well-known/openid-configuration/jwks'
const LIST = '/iam.webkey.v2.WebKeyService/ListWebKeys'
const CREATE = '/iam.webkey.v2.WebKeyService/CreateWebKey'
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'content-type': 'application/json' }
const LONG = 'x'.repeat(70_000)

let server: Keyturn
let bearer: string

beforeAll(async () => {
  server = await startKeyturnInProcess()
  bearer = `Bearer ${await requestToken(await server.admin())}`
})

afterAll(() => removeServers(server))

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Default false: calls have a token. */
  readonly isStranger?: boolean
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

type Send = (url: string, sent: Sent) => Promise<Answer>

const headersOf = ({ path, headers = {}, isStranger = false }: Sent) => ({
  ...(path.startsWith('/iam.') && !isStranger ? { authorization: bearer } : {}),
  ...headers,
})

async function over1(url: string, sent: Sent): Promise<Answer> {
  const { port, hostname } = new URL(url)
  const { method, path, body } = sent
  const req = request1({ port, hostname, path, method, headers: headersOf(sent), agent: false })
  req.end(body)
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of res) text += chunk
  return { status: res.statusCode ?? 0, headers: res.headers, text }
}

async function over2(url: string, sent: Sent): Promise<Answer> {
  const { method, path, body } = sent
  const session = connectHttp2(url)
  const { host, ...headers } = headersOf(sent) as Record<string, string>
  const authority = host === undefined ? {} : { ':authority': host }
  const stream = session.request(
    { ':method': method, ':path': path, ...authority, ...headers },
    { endStream: body === undefined },
  )
  stream.end(body)
  const [head] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  session.destroy()
  return { status: head[':status'], headers: head, text }
}

const VERSIONS: readonly (readonly [string, Send])[] = [
  ['HTTP/1.1', over1],
  ['HTTP/2', over2],
]

/** The forms of errors: of OAuth (RFC 6749 §5.2), which paths without a protocol have too, and of Connect. */
const FORMS = {
  oauth: (code: string) => ({ error: code, error_description: expect.any(String) }),
  connect: (code: string) => expect.objectContaining({ code, message: expect.any(String) }),
}

interface Refusal extends Sent {
  readonly status: number
  readonly error: readonly [form: keyof typeof FORMS, code: string]
  /** What the text says. */
  readonly says: RegExp
  readonly answers?: Readonly<Record<string, unknown>>
  /** Default: both. */
  readonly only?: string
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  'a path where nothing is': { method: 'GET', path: '/x', status: 404, error: ['oauth', 'not_found'], says: /nothing/ },
  'a method that no service has': {
    method: 'POST',
    path: '/iam.webkey.v2.WebKeyService/Nothing',
    headers: JSON_TYPE,
    body: '{}',
    status: 404,
    error: ['connect', 'unimplemented'],
    says: /nothing/,
  },
  'a GET of the token endpoint': {
    method: 'GET',
    path: TOKEN,
    status: 405,
    error: ['oauth', 'invalid_request'],
    says: /POST/,
    answers: { allow: 'POST' },
  },
  'a GET of a call that changes something': {
    method: 'GET',
    path: CREATE,
    status: 405,
    error: ['connect', 'unimplemented'],
    says: /POST/,
    answers: { allow: 'POST, OPTIONS' },
  },
  'a form that is too long': {
    method: 'POST',
    path: TOKEN,
    headers: { ...FORM, 'content-length': '70000' },
    body: LONG,
    status: 413,
    error: ['oauth', 'invalid_request'],
    says: /65536 bytes/,
  },
  'a message that is too long': {
    method: 'POST',
    path: LIST,
    headers: { ...JSON_TYPE, 'content-length': '70000' },
    body: LONG,
    status: 413,
    error: ['connect', 'resource_exhausted'],
    says: /65536 bytes/,
  },
  'a message that is too long decompressed': {
    method: 'POST',
    path: LIST,
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    body: gzipSync(LONG),
    status: 429,
    error: ['connect', 'resource_exhausted'],
    says: /65536 bytes/,
  },
  'a message that is compressed in another way': {
    method: 'POST',
    path: LIST,
    headers: { ...JSON_TYPE, 'content-encoding': 'br' },
    body: '{}',
    status: 501,
    error: ['connect', 'unimplemented'],
    says: /gzip/,
    answers: { 'accept-encoding': 'gzip' },
  },
  'a message of another type': {
    method: 'POST',
    path: LIST,
    headers: { 'content-type': 'text/plain' },
    body: '{}',
    status: 415,
    error: ['connect', 'invalid_argument'],
    says: /application\/json, application\/proto, application\/grpc, .*application\/grpc-web/,
    answers: { accept: expect.stringMatching(/^application\/json, application\/proto, application\/grpc, /) },
  },
  'a stream in both directions': {
    method: 'POST',
    path: REFLECTION,
    headers: { 'content-type': 'application/grpc-web+proto' },
    body: '',
    status: 505,
    error: ['connect', 'unimplemented'],
    says: /HTTP\/2/,
    only: 'HTTP/1.1',
  },
  'a form that is compressed': {
    method: 'POST',
    path: TOKEN,
    headers: { ...FORM, 'content-encoding': 'gzip' },
    body: gzipSync('grant_type=client_credentials'),
    status: 415,
    error: ['oauth', 'invalid_request'],
    says: /Content-Encoding/,
    answers: { 'accept-encoding': 'identity' },
  },
}

const TABLE = VERSIONS.flatMap(([version, send]) =>
  Object.entries(REFUSALS)
    .filter(([, { only = version }]) => only === version)
    .map(([name, refusal]) => [name, version, send, refusal] as const),
)

function expectReadable({ headers, text }: Answer): void {
  expect(headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/)
  expect(headers['content-length']).toBe(String(Buffer.byteLength(text)))
  expect(headers['x-content-type-options']).toBe('nosniff')
  expect(headers['cache-control']).toBe('no-store')
}

function textIn(text: string): string {
  const { message, error_description: description } = JSON.parse(text) as Record<string, string>
  return message ?? description ?? ''
}

describe('a refusal', () => {
  it.each(TABLE)('of %s says what was expected, over %s', async (_name, _version, send, refusal) => {
    const answer = await send(server.listenUrl, refusal)
    expect(answer.status).toBe(refusal.status)
    const [form, code] = refusal.error
    expect(JSON.parse(answer.text)).toEqual(FORMS[form](code))
    expect(textIn(answer.text)).toMatch(refusal.says)
    expectReadable(answer)
    expect(answer.headers).toMatchObject(refusal.answers ?? {})
  })

  it.each(
    VERSIONS.flatMap(([version, send]) =>
      ['/x', TOKEN, CREATE, LIST, '/iam.webkey.v2.WebKeyService/Nothing'].map((path) => [path, version, send] as const),
    ),
  )('of HEAD %s has the headers of GET and no body, over %s', async (path, _version, send) => {
    const get = await send(server.listenUrl, { method: 'GET', path })
    const head = await send(server.listenUrl, { method: 'HEAD', path })
    const fields = ({ status, headers }: Answer) => [status, headers['content-type'], headers['content-length']]
    expect(head.text).toBe('')
    expect(get.status).toBeGreaterThanOrEqual(400)
    expect(fields(head)).toEqual(fields(get))
  })
})

describe('a server that is starting', () => {
  let folder: string
  let url: string
  let child: ReturnType<typeof spawnKeyturn>

  beforeAll(async () => {
    folder = await temporaryFolder()
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    child = spawnKeyturn(['serve'], {
      KEYTURN_LISTEN: `127.0.0.1:${port}`,
      KEYTURN_METRICS_LISTEN: 'off',
      KEYTURN_DATA_DIR: folder,
      KEYTURN_DATABASE_URL: `postgres://x:y@127.0.0.1:${await freePort()}/x`,
      KEYTURN_MASTER_KEYS: generateMasterKey(),
    })
    const output = collect(child)
    await eventually(() => expect(output.stderr).toContain('waiting for the database'))
  })

  afterAll(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await removeFolder(folder)
  })

  it.each(
    VERSIONS.flatMap(([version, send]) =>
      ([TOKEN, JWKS, LIST, '/x', '/x.Y/Z'] as const).map((path) => [path, version, send] as const),
    ),
  )('says at %s when to try again, over %s', async (path, _version, send) => {
    const answer = await send(url, { method: 'POST', path, headers: JSON_TYPE, body: '{}', isStranger: true })
    expect(answer.status).toBe(503)
    expectReadable(answer)
    expect(answer.headers['retry-after']).toMatch(/^\d+$/)
    const isCall = path === LIST || path === '/x.Y/Z'
    const expected = isCall ? FORMS.connect('unavailable') : FORMS.oauth('temporarily_unavailable')
    expect(JSON.parse(answer.text)).toEqual(expected)
  })
})
