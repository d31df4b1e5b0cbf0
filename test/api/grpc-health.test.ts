import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { credentials, Client as GrpcJsClient, Metadata, status } from '@grpc/grpc-js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../gen/grpc/reflection/v1/reflection_pb.js'
import { readConfig } from '../../src/config/read-config.ts'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { createAddressReader } from '../../src/http/requests/client-address.ts'
import { RequestContexts } from '../../src/http/requests/request-context.ts'
import { PublicListener } from '../../src/server/public-listener.ts'
import { eventually } from '../support/eventually.ts'
import { checkHealth, type HealthWatch, watchHealth } from '../support/grpc-health.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'
import { createRecordingLog } from '../support/log.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const WEB_KEYS = 'iam.webkey.v2beta.WebKeyService'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function start(env: Record<string, string> = {}): Promise<Keyturn> {
  const server = await startKeyturnInProcess({ env })
  undo.push(() => removeServers(server))
  return server
}

function watch(server: { readonly listenUrl: string }, service?: string): HealthWatch {
  const watching = watchHealth(server.listenUrl, service)
  undo.push(() => watching.cancel())
  return watching
}

describe('a server', () => {
  it('says over gRPC that it serves, as a whole and each service, to anybody', async () => {
    const { listenUrl } = await start()
    expect(await checkHealth(listenUrl)).toBe('SERVING')
    expect(await checkHealth(listenUrl, WEB_KEYS)).toBe('SERVING')
    await expect(checkHealth(listenUrl, 'x.Y')).rejects.toMatchObject({ code: status.NOT_FOUND })
  })

  it('that does not serve the beta does not know it, and does not list it among its services', async () => {
    const { listenUrl } = await start({ KEYTURN_BETA_API: 'off' })
    await expect(checkHealth(listenUrl, WEB_KEYS)).rejects.toMatchObject({ code: status.NOT_FOUND })
    const names = await servicesListedBy(listenUrl)
    expect(names).toContainEqual(expect.objectContaining({ name: 'iam.webkey.v2.WebKeyService' }))
    expect(names).not.toContainEqual(expect.objectContaining({ name: WEB_KEYS }))
  })

  it('does not serve before it is ready, and tells who watches when it is', async () => {
    const config = readConfig({ KEYTURN_LISTEN: '127.0.0.1:0' }, {})
    const door = new PublicListener({
      config,
      log: createRecordingLog(),
      contexts: new RequestContexts(createAddressReader([])),
      around: (handler) => handler,
      onAnswered: () => {},
    })
    undo.push(() => door.close(0))
    await door.open()
    expect(await checkHealth(door.listenUrl)).toBe('NOT_SERVING')
    expect(await checkHealth(door.listenUrl, WEB_KEYS)).toBe('NOT_SERVING')
    const watching = watch(door)
    await eventually(() => expect(watching.statuses).toEqual(['NOT_SERVING']))

    const unused = () => {}
    const tokens = { token: unused, introspection: unused, revocation: unused }
    const oauth = { ...tokens, jwks: unused, discovery: unused, protectedResource: unused, openApi: unused }
    const readiness = () => ({ ready: true, warnings: [] }) as const
    const services = { oauth, rpc: new Map(), console: [], readiness, canAdminister: () => true }
    door.serve(services)
    await eventually(() => expect(watching.statuses).toEqual(['NOT_SERVING', 'SERVING']))
    expect(await checkHealth(door.listenUrl, WEB_KEYS)).toBe('SERVING')
  })

  it('that stops says so to who watches, and does not wait for them to leave', async () => {
    const server = await start()
    const watching = [watch(server), watch(server, WEB_KEYS), watch(server, 'x.Y')]
    for (const { statuses } of watching) await eventually(() => expect(statuses).toHaveLength(1))

    await server.stop()
    for (const { ended } of watching) {
      expect(await ended).toMatchObject({ code: status.UNAVAILABLE, details: 'the server is stopping' })
    }
    expect(watching.map(({ statuses }) => statuses)).toEqual([
      ['SERVING', 'NOT_SERVING'],
      ['SERVING', 'NOT_SERVING'],
      ['SERVICE_UNKNOWN'],
    ])
  })
})

describe('a server that loses its database for too long', () => {
  let postgres: TestPostgres
  let proxy: TcpProxy
  beforeAll(async () => {
    postgres = sharedPostgres()
  })
  afterAll(async () => {
    await postgres?.stop()
  })

  it('says that it cannot administer as soon as it knows, while it issues tokens from memory', async () => {
    const url = new URL(await postgres.createMigratedDatabase())
    const databasePort = Number(url.port)
    proxy = await startTcpProxy(databasePort)
    undo.push(() => proxy.close())
    url.port = String(proxy.port)
    const { listenUrl } = await start({ KEYTURN_DATABASE_URL: url.href, KEYTURN_MASTER_KEYS: generateMasterKey() })
    const health = async () => [await checkHealth(listenUrl), await checkHealth(listenUrl, WEB_KEYS)]
    expect(await health()).toEqual(['SERVING', 'SERVING'])
    await proxy.close()
    await eventually(async () => expect(await health()).toEqual(['SERVING', 'NOT_SERVING']))
  })
})

/** The names that server reflection lists, asked with @grpc/grpc-js, which shares no code with the server. */
async function servicesListedBy(url: string) {
  const client = new GrpcJsClient(new URL(url).host, credentials.createInsecure())
  const stream = client.makeBidiStreamRequest(
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    (bytes: Uint8Array) => Buffer.from(bytes),
    (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
    new Metadata(),
  )
  const request = create(ServerReflectionRequestSchema, { messageRequest: { case: 'listServices', value: '' } })
  stream.end(toBinary(ServerReflectionRequestSchema, request))
  const responses: ServerReflectionResponse[] = []
  for await (const response of stream) responses.push(response)
  client.close()
  return responses.flatMap(({ messageResponse }) =>
    messageResponse.case === 'listServicesResponse' ? messageResponse.value.service : [],
  )
}
