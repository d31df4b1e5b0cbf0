import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AdminCredentials,
  type Keyturn,
  removeServers,
  requestToken,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { webKeyClient } from '../support/web-key-client.ts'

const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const

let postgres: TestPostgres
let databasePort: number
let proxy: TcpProxy
let server: Keyturn | undefined
let admin: AdminCredentials

beforeAll(async () => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  const url = new URL(await postgres.createMigratedDatabase())
  databasePort = Number(url.port)
  proxy = await startTcpProxy(databasePort)
  url.port = String(proxy.port)
  env = { KEYTURN_DATABASE_URL: url.href, KEYTURN_MASTER_KEYS: generateMasterKey() }
})
afterEach(async () => {
  await removeServers(server)
  server = undefined
  await proxy.close()
})
afterAll(async () => {
  await postgres?.stop()
})

let env: Record<string, string>
async function start(settings: Record<string, string> = {}): Promise<Keyturn> {
  server = await startKeyturnInProcess({ env: { ...env, ...settings } })
  admin = await server.admin()
  return server
}

/** Connections break, and new ones are refused. */
const cut = () => proxy.close()
const restore = async () => {
  proxy = await startTcpProxy(databasePort, proxy.port)
}

function ask(changes: Partial<AdminCredentials> = {}) {
  const { token_endpoint, client_id, client_secret } = { ...admin, ...changes }
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  return fetch(token_endpoint, { method: 'POST', body })
}

const get = (path: string) => fetch(new URL(path, admin.base_url))
const statusOf = async (response: Promise<Response>) => {
  const { status, body } = await response
  await body?.cancel()
  return status
}

async function expectUnavailable(call: () => Promise<unknown>) {
  const error = ConnectError.from(await call().catch((thrown: unknown) => thrown))
  expect({
    code: error.code,
    reason: error.findDetails(ErrorInfoSchema)[0]?.reason,
    message: error.rawMessage,
  }).toEqual({
    code: Code.Unavailable,
    reason: 'STORAGE_UNAVAILABLE',
    message: expect.not.stringMatching(/postgres|127\.0\.0\.1|ECONN/i),
  })
}

async function expectTemporarilyUnavailable(response: Response) {
  expect({
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    cacheControl: response.headers.get('cache-control'),
    body: await response.json(),
  }).toEqual({
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/),
    cacheControl: 'no-store',
    body: { error: 'temporarily_unavailable', error_description: expect.any(String) },
  })
}

describe('a server that loses its database', () => {
  it('goes on issuing and verifying tokens from memory, and says "unavailable" where it needs the database', async () => {
    const { baseUrl } = await start()
    const client = webKeyClient(baseUrl, await requestToken(admin))
    const { details } = await client.createWebKey(ED25519)
    await cut()

    await expectUnavailable(() => client.listWebKeys({}))
    await expectUnavailable(() => client.createWebKey(ED25519))
    await expectUnavailable(() => client.activateWebKey({ keyId: details!.keyId }))
    await expectUnavailable(() => client.deleteWebKey({ keyId: details!.keyId }))

    expect(await statusOf(ask())).toBe(200)
    await expectTemporarilyUnavailable(await ask({ client_secret: 'wrong' }))
    expect(await (await get('/.well-known/openid-configuration/jwks')).text()).toContain(details!.keyId)
    expect(await statusOf(get('/readyz'))).toBe(200)
    // A token that is issued now is good for the API: only the database is missing.
    await expectUnavailable(async () => webKeyClient(baseUrl, await requestToken(admin)).listWebKeys({}))
  })

  it('is itself again when the database is back', async () => {
    const { baseUrl } = await start()
    const client = webKeyClient(baseUrl, await requestToken(admin))
    await cut()
    await expectUnavailable(() => client.listWebKeys({}))
    await restore()

    const { details } = await eventually(() => client.createWebKey(ED25519))
    await client.activateWebKey({ keyId: details!.keyId })
    expect(await (await get('/.well-known/openid-configuration/jwks')).text()).toContain(details!.keyId)
  })

  it('stops serving when it has been away for too long, and begins again by itself', async () => {
    const { baseUrl } = await start({ KEYTURN_MAX_STALENESS: '1' })
    const client = webKeyClient(baseUrl, await eventually(() => requestToken(admin)))
    await cut()

    await eventually(async () => expect(await statusOf(ask())).toBe(503))
    await expectTemporarilyUnavailable(await ask())
    await expectTemporarilyUnavailable(await ask({ client_secret: 'wrong' }))
    await expectTemporarilyUnavailable(await get('/.well-known/openid-configuration/jwks'))
    await expectTemporarilyUnavailable(await get('/.well-known/openid-configuration'))
    await expectTemporarilyUnavailable(await get('/.well-known/oauth-authorization-server'))
    await expectUnavailable(() => client.listWebKeys({}))
    const readiness = await get('/readyz')
    expect({ status: readiness.status, body: await readiness.text() }).toEqual({
      status: 503,
      body: expect.stringMatching(
        /the database has not confirmed the state of the instance for \d+ s, the limit is 1 s: the database is not avail/,
      ),
    })
    expect(await statusOf(get('/healthz'))).toBe(200)

    await restore()
    await eventually(async () => expect(await statusOf(ask())).toBe(200))
    await eventually(async () => expect(await statusOf(get('/.well-known/openid-configuration/jwks'))).toBe(200))
    await eventually(async () => expect(await statusOf(get('/readyz'))).toBe(200))
    await eventually(() => client.listWebKeys({}))
  })
})
