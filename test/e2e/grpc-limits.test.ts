import { once } from 'node:events'
import { connect } from 'node:http2'
import { create, toBinary } from '@bufbuild/protobuf'
import { credentials, Client as GrpcJsClient, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CreateWebKeyRequestSchema } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { eventually } from '../support/eventually.ts'
import { watchHealth } from '../support/grpc-health.ts'
import { type Keyturn, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

const SERVICE = '/iam.webkey.v2beta.WebKeyService'

let server: Keyturn
let client: GrpcJsClient
let token: string
beforeAll(async () => {
  server = await startKeyturn()
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
