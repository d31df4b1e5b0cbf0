/**
 * The texts of errors on the wire (gRPC over HTTP2, "Responses": `Percent-Byte-Unencoded` is %x20-%x24 and %x26-%x7E), as clients
 * read them that share no code with the server.
 */
import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { clientOf, TRANSPORTS, type TransportName } from '../support/web-key-client.ts'

const PATH = '/iam.webkey.v2.WebKeyService/DeleteWebKey'

/** Each kind of byte: separators of URLs, a percent sign, a control character, DEL, and two and four bytes of UTF-8. */
const KEY_ID = 'a:b/c?d=e&f#g+h,i;j@k%l%41\u007fü😀\n'
const MESSAGE = `there is no web key ${JSON.stringify(KEY_ID)}`
const ON_THE_WIRE = 'there is no web key "a:b/c?d=e&f#g+h,i;j@k%25l%2541%7F%C3%BC%F0%9F%98%80\\n"'

let server: Keyturn
let token: string

beforeAll(async () => {
  server = await startKeyturnInProcess()
  token = await requestToken(await server.admin())
})

afterAll(async () => {
  await server.stop()
  await removeFolder(server.dataDir)
})

function enveloped(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const message = Buffer.from(body)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Uint8Array.from([...head, ...message])
}

describe('the text of an error', () => {
  it('has only those bytes encoded that gRPC asks for, in the trailers of gRPC', async () => {
    const session = connect(server.listenUrl)
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc+json',
      te: 'trailers',
      authorization: `Bearer ${token}`,
    })
    stream.end(enveloped(JSON.stringify({ keyId: KEY_ID })))
    stream.resume()
    const [trailers] = await once(stream, 'trailers')
    session.destroy()
    expect([trailers['grpc-status'], trailers['grpc-message']]).toEqual(['5', ON_THE_WIRE])
  })

  it.each(Object.keys(TRANSPORTS) as TransportName[])('is read over %s', async (transport) => {
    const client = clientOf(WebKeyService, server.baseUrl, { token, transport })
    await expect(client.deleteWebKey({ keyId: KEY_ID })).rejects.toMatchObject({ rawMessage: MESSAGE })
  })
})
