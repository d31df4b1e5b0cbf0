/**
 * Requests that are compressed with gzip, of clients that share no code with the server where there are some.
 */

import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { create, toBinary } from '@bufbuild/protobuf'
import { type Client, createClient, type Interceptor } from '@connectrpc/connect'
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node'
import {
  compressionAlgorithms,
  credentials,
  Client as GrpcJsClient,
  Metadata,
  type ServiceError,
  type StatusObject,
  status,
} from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ServerReflectionRequestSchema } from '../../gen/grpc/reflection/v1/reflection_pb.js'
import { CreateWebKeyRequestSchema, WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { requestToken } from '../support/web-key-client.ts'

const SERVICE = '/iam.webkey.v2.WebKeyService'
const LIMIT = 64 * 1024
/** Of calls that need no token. */
const PUBLIC_LIMIT = 4 * 1024
/** Sixty thousand bytes that are ten megabytes. */
const BOMB = gzipSync(Buffer.alloc(10_000_000))

let server: Keyturn
let token: string

beforeAll(async () => {
  server = await startKeyturnInProcess()
  token = await requestToken(await server.admin())
})

afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
})

function clientWith(transport: (typeof TRANSPORTS)[keyof typeof TRANSPORTS]): Client<typeof WebKeyService> {
  const authenticate: Interceptor = (next) => (req) => {
    req.header.set('authorization', `Bearer ${token}`)
    return next(req)
  }
  return createClient(WebKeyService, transport({ baseUrl: server.listenUrl, interceptors: [authenticate], ...GZIP }))
}

const GZIP = { sendCompression: compressionGzip, acceptCompression: [compressionGzip], compressMinBytes: 0 }
type Options = typeof GZIP & { baseUrl: string; interceptors: Interceptor[] }

const TRANSPORTS = {
  gRPC: (options: Options) => createGrpcTransport(options),
  'gRPC-Web': (options: Options) => createGrpcWebTransport({ ...options, httpVersion: '1.1' }),
  'Connect with protobuf': (options: Options) => createConnectTransport({ ...options, httpVersion: '2' }),
  'Connect with JSON': (options: Options) =>
    createConnectTransport({ ...options, httpVersion: '1.1', useBinaryFormat: false }),
  'Connect with GET': (options: Options) =>
    createConnectTransport({ ...options, httpVersion: '1.1', useHttpGet: true }),
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** A request with these headers, of a client that does nothing by itself. */
async function send(path: string, body: Uint8Array | null, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const req = request(server.listenUrl + path, { method: body === null ? 'GET' : 'POST', headers })
  req.end(body ?? undefined)
  const [res] = await once(req, 'response')
  let text = ''
  for await (const chunk of res.setEncoding('latin1')) text += chunk
  return { status: res.statusCode, headers: res.headers, text }
}

const bearer = () => ({ authorization: `Bearer ${token}` })

function envelope(flags: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(flags)
  head.writeUInt32BE(payload.length, 1)
  return Buffer.concat([head, payload])
}

/** A call with this gzipped body in each protocol over HTTP/1.1. @returns The code, as Connect or gRPC name it. */
const PROTOCOLS = {
  'Connect with JSON': async (path: string, body: Uint8Array, headers: Readonly<Record<string, string>>) => {
    const type = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const { text } = await send(path, body, { ...type, ...headers })
    return (JSON.parse(text) as { code?: string }).code ?? 'ok'
  },
  'Connect with GET': async (path: string, body: Uint8Array, headers: Readonly<Record<string, string>>) => {
    const message = Buffer.from(body).toString('base64url')
    const { text } = await send(`${path}?encoding=json&compression=gzip&base64=1&message=${message}`, null, headers)
    return (JSON.parse(text) as { code?: string }).code ?? 'ok'
  },
  'gRPC-Web': async (path: string, body: Uint8Array, headers: Readonly<Record<string, string>>) => {
    const type = { 'content-type': 'application/grpc-web+json', 'grpc-encoding': 'gzip' }
    const { text } = await send(path, envelope(1, body), { ...type, ...headers })
    const code = Number(/grpc-status: (\d+)/.exec(text)?.[1])
    return status[code]?.toLowerCase()
  },
}

const ALL = Object.entries(PROTOCOLS)
const POST = ALL.filter(([name]) => name !== 'Connect with GET')

describe('a client that compresses', () => {
  it.each(Object.entries(TRANSPORTS))('is served over %s', async (_, transport) => {
    const client = clientWith(transport)
    const { webKey } = await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    const { webKeys } = await client.listWebKeys({})
    expect(webKeys.map(({ keyId }) => keyId)).toContain(webKey?.keyId)
    await expect(client.deleteWebKey({ keyId: 'nothing' })).rejects.toThrow('there is no web key "nothing"')
  })

  it('is served over gRPC if it is not ours', async () => {
    const client = gzippingGrpcJs()
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${token}`)
    const message = toBinary(
      CreateWebKeyRequestSchema,
      create(CreateWebKeyRequestSchema, { config: { config: { case: 'ed25519', value: {} } } }),
    )
    const bytes = await new Promise<Buffer | undefined>((resolve, reject) =>
      client.makeUnaryRequest(
        `${SERVICE}/CreateWebKey`,
        Buffer.from,
        (answer: Buffer) => answer,
        message,
        metadata,
        (error: ServiceError | null, answer?: Buffer) => (error === null ? resolve(answer) : reject(error)),
      ),
    )
    client.close()
    expect(bytes?.length).toBeGreaterThan(10)
  })

  it('is served on a stream of gRPC', async () => {
    expect(await reflect(Buffer.from(toBinary(ServerReflectionRequestSchema, LIST)))).toEqual({ code: 0, answers: 1 })
  })

  it.each(Object.keys(PROTOCOLS))('is served over %s, with an answer that is not compressed', async (name) => {
    const type: Record<string, Record<string, string>> = {
      'Connect with JSON': { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      'Connect with GET': {},
      'gRPC-Web': { 'content-type': 'application/grpc-web+json', 'grpc-encoding': 'gzip' },
    }
    const body = gzipSync('{}')
    const target =
      name === 'Connect with GET'
        ? `${SERVICE}/ListWebKeys?encoding=json&compression=gzip&base64=1&message=${body.toString('base64url')}`
        : `${SERVICE}/ListWebKeys`
    const sent = name === 'Connect with GET' ? null : name === 'gRPC-Web' ? envelope(1, body) : body
    const accept = { 'accept-encoding': 'gzip', 'grpc-accept-encoding': 'gzip' }
    const answer = await send(target, sent, { ...bearer(), ...type[name], ...accept })
    expect(answer.text).toContain('STATE_ACTIVE')
    expect([answer.headers['content-encoding'], answer.headers['grpc-encoding']]).toEqual([undefined, undefined])
  })

  it('may leave single messages as they are', async () => {
    const headers = { ...bearer(), 'content-type': 'application/grpc-web+json', 'grpc-encoding': 'gzip' }
    const { text } = await send(`${SERVICE}/ListWebKeys`, envelope(0, Buffer.from('{}')), headers)
    expect(text).toContain('grpc-status: 0')
  })

  it('with something else is told what is known', async () => {
    const type = { 'content-type': 'application/json', 'content-encoding': 'br' }
    const connect = await send(`${SERVICE}/ListWebKeys`, Buffer.from('{}'), { ...bearer(), ...type })
    expect(connect).toMatchObject({ status: 501, headers: { 'accept-encoding': 'gzip' } })
    expect(JSON.parse(connect.text)).toMatchObject({ code: 'unimplemented', message: expect.stringContaining('gzip') })
    const grpcWeb = { 'content-type': 'application/grpc-web+json', 'grpc-encoding': 'deflate' }
    const { headers, text } = await send(`${SERVICE}/ListWebKeys`, envelope(1, BOMB), { ...bearer(), ...grpcWeb })
    expect(text).toMatch(/grpc-status: 12/)
    expect(headers['grpc-accept-encoding']).toBe('gzip')
  })
})

describe('a compressed message', () => {
  it.each(ALL)('is refused when it is longer than 64 KiB decompressed, over %s', async (_, call) => {
    const padded = (length: number) => gzipSync(`{}${' '.repeat(length - 2)}`)
    expect(await call(`${SERVICE}/ListWebKeys`, padded(LIMIT), bearer())).toBe('ok')
    expect(await call(`${SERVICE}/ListWebKeys`, padded(LIMIT + 1), bearer())).toBe('resource_exhausted')
    expect(await call(`${SERVICE}/ListWebKeys`, BOMB, bearer())).toBe('resource_exhausted')
  })

  it.each(ALL)('that is not gzip to its end is invalid, over %s', async (_, call) => {
    const right = gzipSync('{}'.padEnd(1_000))
    const wrong = [
      right.subarray(0, -1),
      right.subarray(0, 12),
      Buffer.from('{}'),
      Buffer.concat([right, Buffer.from('x')]),
      Buffer.from(right).fill(0xff, 15, 20),
    ]
    for (const body of wrong) expect(await call(`${SERVICE}/ListWebKeys`, body, bearer())).toBe('invalid_argument')
  })

  it.each(ALL)('that does not decode is invalid, over %s', async (_, call) => {
    expect(await call(`${SERVICE}/ListWebKeys`, gzipSync('{"a":1}'), bearer())).toBe('invalid_argument')
  })

  it.each(ALL)('is not looked at without a token, over %s', async (_, call) => {
    expect(await call(`${SERVICE}/ListWebKeys`, BOMB, {})).toBe('unauthenticated')
  })

  it.each(POST)('is small for a call that needs no token, over %s', async (_, call) => {
    const named = (length: number) => gzipSync(`{"service":""}${' '.repeat(length - 14)}`)
    expect(await call('/grpc.health.v1.Health/Check', named(PUBLIC_LIMIT), {})).toBe('ok')
    expect(await call('/grpc.health.v1.Health/Check', named(PUBLIC_LIMIT + 1), {})).toBe('resource_exhausted')
  })

  it('ends a stream when it is too long', async () => {
    const zeros = Buffer.alloc(PUBLIC_LIMIT + 1)
    expect(await reflect(zeros)).toEqual({ code: status.RESOURCE_EXHAUSTED, answers: 0 })
  })
})

const LIST = create(ServerReflectionRequestSchema, { messageRequest: { case: 'listServices', value: '' } })

function gzippingGrpcJs(): GrpcJsClient {
  const options = { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip }
  return new GrpcJsClient(new URL(server.listenUrl).host, credentials.createInsecure(), options)
}

/** Sends one message on a stream of server reflection. */
async function reflect(message: Buffer): Promise<{ code: number; answers: number }> {
  const client = gzippingGrpcJs()
  const stream = client.makeBidiStreamRequest(
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    (bytes: Buffer) => bytes,
    (bytes: Buffer) => bytes,
    new Metadata(),
  )
  let answers = 0
  stream.on('data', () => {
    answers += 1
  })
  stream.on('error', () => {})
  stream.end(message)
  const { code } = await new Promise<StatusObject>((resolve) => stream.once('status', resolve))
  client.close()
  return { code, answers }
}
