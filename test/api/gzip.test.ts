/**
 * Requests that are compressed with gzip, of clients that share no code with the server where there are some.
 */

import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { type Client, createClient, type Interceptor } from '@connectrpc/connect'
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node'
import { status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'

const SERVICE = '/iam.webkey.v2.WebKeyService'
const LIMIT = 64 * 1024
/** Sixty thousand bytes that are ten megabytes. */
const BOMB = gzipSync(Buffer.alloc(10_000_000))

let server: Keyturn
let token: string

beforeAll(async () => {
  server = await startKeyturnInProcess()
  token = await requestToken(await server.admin())
})

afterAll(() => removeServers(server))

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

describe('a client that compresses', () => {
  it.each(Object.entries(TRANSPORTS))('is served over %s', async (_, transport) => {
    const client = clientWith(transport)
    const { webKey } = await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    const { webKeys } = await client.listWebKeys({})
    expect(webKeys.map(({ keyId }) => keyId)).toContain(webKey?.keyId)
    await expect(client.deleteWebKey({ keyId: 'nothing' })).rejects.toThrow('there is no web key "nothing"')
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
})
