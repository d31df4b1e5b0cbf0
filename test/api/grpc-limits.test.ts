import { once } from 'node:events'
import { connect } from 'node:http2'
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { credentials, Client as GrpcJsClient, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HealthCheckRequestSchema } from '../../gen/grpc/health/v1/health_pb.js'
import { DeleteWebKeyRequestSchema, ListWebKeysRequestSchema } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { CreateWebKeyRequestSchema } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { eventually } from '../support/eventually.ts'
import { watchHealth } from '../support/grpc-health.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

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
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
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
  it.each(['/iam.webkey.v2beta.WebKeyService/Nothing', '/x.Y/Z', '/'])(
    'that calls %s hears that it is not there',
    async (path) => {
      expect(await call(path, new Uint8Array())).toMatchObject({ code: status.UNIMPLEMENTED })
    },
  )

  it('that sends more than 64 KiB is refused, and can go on', async () => {
    const padding = new Uint8Array(64 * 1024 + 1)
    expect(await call(`${SERVICE}/CreateWebKey`, padding)).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
    expect(await call(`${SERVICE}/ListWebKeys`, new Uint8Array())).toMatchObject({ code: status.OK })
  })

  it('that does not want to wait hears so', async () => {
    const request = create(CreateWebKeyRequestSchema, { config: { config: { case: 'rsa', value: { bits: 3 } } } })
    const bytes = toBinary(CreateWebKeyRequestSchema, request)
    expect(await call(`${SERVICE}/CreateWebKey`, bytes, new Date(Date.now() + 20))).toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    })
  })

  it('that sends pings all the time is served for as long as it stays', async () => {
    const watching = watchHealth(server.listenUrl, '', {
      'grpc.keepalive_time_ms': 20,
      'grpc.keepalive_timeout_ms': 20_000,
      'grpc.keepalive_permit_without_calls': 1,
    })
    await eventually(() => expect(watching.statuses).toEqual(['SERVING']))

    const session = connect(server.listenUrl)
    await once(session, 'remoteSettings')
    for (let i = 0; i < 200; i += 1) {
      await new Promise<void>((done, failed) => session.ping((error) => (error === null ? done() : failed(error))))
    }
    expect(session.closed || session.destroyed).toBe(false)
    session.destroy()
    watching.cancel()
    expect(await watching.ended).toMatchObject({ code: status.CANCELLED })
  })
})

describe('an error, whatever the client has sent', () => {
  const MUCH = '\u00e9'.repeat(20_000)
  const LIST = '/iam.webkey.v2.WebKeyService/ListWebKeys'
  const json = (value: object) => Buffer.from(JSON.stringify(value))
  const proto = <Desc extends DescMessage>(desc: Desc, init: MessageInitShape<Desc>) =>
    toBinary(desc, create(desc, init))

  it.each<[string, string, Uint8Array, Record<string, string>]>([
    ['a long name', '/grpc.health.v1.Health/Check', proto(HealthCheckRequestSchema, { service: MUCH }), {}],
    ['a long field', LIST, json({ [MUCH]: 1 }), { 'content-type': 'application/grpc+json' }],
    ['a long value', LIST, json({ states: [MUCH] }), { 'content-type': 'application/grpc+json' }],
    ['many violations', LIST, proto(ListWebKeysRequestSchema, { states: Array(60_000).fill(99) }), {}],
    [
      'a long id',
      '/iam.webkey.v2.WebKeyService/DeleteWebKey',
      proto(DeleteWebKeyRequestSchema, { keyId: MUCH.slice(0, 200) }),
      {},
    ],
    ['a long encoding', LIST, Buffer.alloc(0), { 'grpc-encoding': MUCH.slice(0, 14_000) }],
    ['a long timeout', LIST, Buffer.alloc(0), { 'grpc-timeout': MUCH.slice(0, 14_000) }],
  ])('fits into the trailers: %s', async (_, path, message, headers) => {
    const session = connect(server.listenUrl)
    try {
      await once(session, 'remoteSettings')
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${token}`,
        ...headers,
      })
      const envelope = Buffer.alloc(5)
      envelope.writeUInt32BE(message.byteLength, 1)
      stream.end(Buffer.concat([envelope, message]))
      const [trailers] = (await once(stream.resume(), 'trailers')) as [Record<string, string>]
      expect(Number(trailers['grpc-status'])).toBeGreaterThan(0)
      const bytes = Object.entries(trailers).reduce((sum, [name, value]) => sum + name.length + value.length, 0)
      expect(bytes).toBeLessThan(8_192)
    } finally {
      session.destroy()
    }
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
