import { credentials, Client as GrpcJsClient, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { webKeyClient } from '../support/web-key-client.ts'

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
