/**
 * What clients of gRPC get that share no code with the server: limits, the texts of errors (gRPC over HTTP2, "Responses":
 * `Percent-Byte-Unencoded` is %x20-%x24 and %x26-%x7E), and the schema by reflection.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { credentials, Client as GrpcJsClient, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { SERVICES } from '../support/administration.ts'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { clientOf, TRANSPORTS, type TransportName, webKeyClient } from '../support/web-key-client.ts'

const SERVICE = '/iam.webkey.v2beta.WebKeyService'

let server: Keyturn
let client: GrpcJsClient
let token: string
beforeAll(async () => {
  server = await startKeyturnInProcess()
  token = await requestToken(await server.admin())
  client = new GrpcJsClient(new URL(server.listenUrl).host, credentials.createInsecure())
})
afterAll(async () => {
  client?.close()
  await removeServers(server)
})

/** The status of a call with these bytes. */
function call(path: string, bytes: Uint8Array, deadline?: Date): Promise<{ code: number; details: string }> {
  const metadata = new Metadata()
  metadata.set('authorization', `Bearer ${token}`)
  const plain = (message: Uint8Array) => Buffer.from(message)
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      plain,
      plain,
      bytes,
      metadata,
      deadline === undefined ? {} : { deadline },
      (error: ServiceError | null) => resolve({ code: error?.code ?? status.OK, details: error?.details ?? '' }),
    )
  })
}

const keyCount = async () => (await webKeyClient(server.baseUrl, token).listWebKeys({})).webKeys.length

describe('a gRPC client', () => {
  it('that sends more than 64 KiB is refused, and can go on', async () => {
    const padding = new Uint8Array(64 * 1024 + 1)
    expect(await call(`${SERVICE}/CreateWebKey`, padding)).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
    expect(await call(`${SERVICE}/ListWebKeys`, new Uint8Array())).toMatchObject({ code: status.OK })
  })
})

describe('the deadline of a client', () => {
  it('is kept by the server as well, and nothing is done after it', async () => {
    const before = await keyCount()
    const response = await fetch(`${server.listenUrl}${SERVICE}/CreateWebKey`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'connect-timeout-ms': '1' },
      body: '{"config":{"rsa":{"bits":"RSA_BITS_4096"}}}',
    })
    expect(await response.json()).toMatchObject({ code: 'deadline_exceeded' })
    expect(await keyCount()).toBe(before)
  })
})

const PATH = '/iam.webkey.v2.WebKeyService/DeleteWebKey'

/** Each kind of byte: separators of URLs, a percent sign, a control character, DEL, and two and four bytes of UTF-8. */
const KEY_ID = 'a:b/c?d=e&f#g+h,i;j@k%l%41\u007fü😀\n'
const MESSAGE = `there is no web key ${JSON.stringify(KEY_ID)}`
const ON_THE_WIRE = 'there is no web key "a:b/c?d=e&f#g+h,i;j@k%25l%2541%7F%C3%BC%F0%9F%98%80\\n"'

function enveloped(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const message = Buffer.from(body)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Uint8Array.from([...head, ...message])
}

async function trailersWith(headers: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
  const session = connect(server.listenUrl)
  const stream = session.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/grpc+json',
    te: 'trailers',
    authorization: `Bearer ${token}`,
    ...headers,
  })
  stream.end(enveloped(JSON.stringify({ keyId: KEY_ID })))
  stream.resume()
  const [trailers] = await once(stream, 'trailers')
  session.destroy()
  return trailers
}

describe('the text of an error', () => {
  it('has only those bytes encoded that gRPC asks for, in the trailers of gRPC', async () => {
    expect(await trailersWith({})).toMatchObject({ 'grpc-status': '5', 'grpc-message': ON_THE_WIRE })
  })

  it.each(['grpc-encoding', 'grpc-timeout'])('fits into the trailers, whatever %s is', async (name) => {
    const { 'grpc-message': message = '' } = await trailersWith({ [name]: '\u00ff'.repeat(15_000) })
    expect(message).toContain('%C3%BF')
    expect(message.length).toBeLessThan(1000)
  })

  it.each(Object.keys(TRANSPORTS) as TransportName[])('is read over %s', async (transport) => {
    const client = clientOf(WebKeyService, server.baseUrl, { token, transport })
    await expect(client.deleteWebKey({ keyId: KEY_ID })).rejects.toMatchObject({ rawMessage: MESSAGE })
  })
})

const BUF = join(import.meta.dirname, '../../node_modules/@bufbuild/buf/bin/buf')

/** The services that anybody may call. A name more is a decision about what strangers may see. */
const PUBLIC = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
]

/** A client without any schema. It must not find that of the checkout. */
async function bufCurl(...args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const buf = spawn(process.execPath, [BUF, 'curl', '--protocol', 'grpc', '--http2-prior-knowledge', ...args], {
    cwd: server.dataDir,
    env: { PATH: process.env.PATH, HOME: server.dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(buf.stdout), text(buf.stderr), once(buf, 'close')])
  return { code, stdout, stderr }
}

describe.each(['grpc-v1', 'grpc-v1alpha'])('a tool that has no schema and asks for %s', (version) => {
  const curl = (...args: readonly string[]) => bufCurl('--reflect-protocol', version, ...args)

  it('lists the services: those that need a permission, and those that are public', async () => {
    const { stdout, stderr, code } = await curl('--list-services', server.listenUrl)
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(stdout.trimEnd().split('\n')).toEqual([...SERVICES.map(({ typeName }) => typeName), ...PUBLIC].sort())
  })

  it('calls a method', async () => {
    const url = `${server.listenUrl}/iam.webkey.v2beta.WebKeyService/ListWebKeys`
    const { stdout, stderr, code } = await curl('-H', `Authorization: Bearer ${token}`, url)
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({ webKeys: [{ state: 'STATE_ACTIVE' }] })
  })
})
