/** Calls that are refused before their body is read leave no stream behind: neither the next call nor a graceful shutdown waits. */
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'

/** More than a connection may have streams at the same time. */
const CALLS = 120

let server: Keyturn
beforeAll(async () => {
  server = await startKeyturnInProcess()
})
afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
})

it.each<[string, (baseUrl: string) => Transport]>([
  ['gRPC', (baseUrl) => createGrpcTransport({ baseUrl })],
  ['gRPC-Web', (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '2' })],
  ['Connect', (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' })],
])('any number of refused calls on one HTTP/2 connection is answered over %s', async (_name, transportTo) => {
  const client = createClient(WebKeyService, transportTo(server.listenUrl))
  for (let count = 0; count < CALLS; count += 1) {
    const error = await client.listWebKeys({}, { timeoutMs: 60_000 }).catch(ConnectError.from)
    expect(error).toMatchObject({ code: Code.Unauthenticated })
  }
})
