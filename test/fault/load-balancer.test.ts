/**
 * Two replicas behind HAProxy, with the configuration in `deploy/haproxy`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { OAUTH_PATHS } from '../../src/oauth/requests/endpoints.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { callWithGrpcJs } from '../support/grpc-js.ts'
import {
  type AdminCredentials,
  type Keyturn,
  removeFolder,
  requestToken,
  startKeyturn,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { describeUnless, itUnless, NOT_LINUX } from '../support/unless.ts'
import { webKeyClient } from '../support/web-key-client.ts'

/** The configuration that is shipped. */
const HAPROXY_CONFIG = join(import.meta.dirname, '../../deploy/haproxy/haproxy.cfg')

const PROGRAM = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy', '/opt/homebrew/bin/haproxy'].find(existsSync)

/** Why HAProxy cannot be started; undefined if it can. */
const WITHOUT_HAPROXY = PROGRAM === undefined ? 'haproxy is not installed' : undefined

let postgres: TestPostgres
let folder: string
let balancer: HaProxy
let url: string
let admin: AdminCredentials
let replicas: Keyturn[] = []
let env: Record<string, string>

/** Starts two replicas in this process, and HAProxy in front of them. */
async function startReplicas(): Promise<void> {
  postgres = sharedPostgres()
  folder = await temporaryFolder()
  url = `http://127.0.0.1:${await freePort()}`
  env = {
    KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_CREDENTIALS: join(folder, 'admin.json'),
    KEYTURN_BASE_URL: url,
    KEYTURN_TRUSTED_PROXIES: '127.0.0.1',
  }
  replicas = await Promise.all([0, 1].map(() => startKeyturnInProcess({ env, dataDir: folder })))
  admin = await replicas[0]!.admin()
  await startBalancer()
}

async function stopReplicas(): Promise<void> {
  await balancer.stop()
  for (const replica of replicas.splice(0)) await replica.stop()
  await removeFolder(folder)
  await postgres.stop()
}

describeUnless(WITHOUT_HAPROXY)('two replicas behind HAProxy', () => {
  beforeAll(startReplicas)
  afterAll(stopReplicas)

  it('answer gRPC over cleartext HTTP/2 on the same port, errors with their trailers included', async () => {
    const token = await requestToken(admin)
    const { webKeys } = await callWithGrpcJs(url, token, WebKeyService.method.listWebKeys, {})
    expect(webKeys).toHaveLength(1)
    expect(await webKeyClient(url, token, 'gRPC over h2c').listWebKeys({})).toMatchObject({ webKeys: [{}] })
    const refused = webKeyClient(url, null, 'gRPC over h2c').listWebKeys({})
    await expect(refused.catch((error) => ConnectError.from(error).code)).resolves.toBe(Code.Unauthenticated)
  })

  // Only Linux has more than one loopback address without being asked.
  itUnless(NOT_LINUX)('are told the address of the client, whatever the client says it is', async () => {
    const fail = (localAddress: string) => postWrongSecret(localAddress)
    // Each replica counts by itself, up to a hundred for one client at one address.
    const statuses: (number | undefined)[] = []
    for (let round = 0; round < 20; round += 1) {
      statuses.push(...(await Promise.all(Array.from({ length: 20 }, () => fail('127.0.0.2')))))
    }
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
    expect(await fail('127.0.0.2')).toBe(429)
    expect(await fail('127.0.0.3')).toBe(401)
  })
})

describeUnless(WITHOUT_HAPROXY)('two replicas behind HAProxy, which stop or die,', () => {
  beforeEach(startReplicas)
  afterEach(stopReplicas)

  it('do without one that is killed, and no client that asks for tokens or keys notices', async () => {
    const victim = await startKeyturn({ env, dataDir: folder })
    await replicas.shift()?.stop()
    replicas.unshift(victim)
    await balancer.stop()
    await startBalancer()

    let stopped = false
    const failures: string[] = []
    let answers = 0
    const ask = async (what: () => Promise<Response>): Promise<void> => {
      while (!stopped) {
        const outcome = await what().then(outcomeOf, String)
        if (outcome === 'ok') answers += 1
        else failures.push(outcome)
      }
    }
    const { token_endpoint, client_id, client_secret } = admin
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    const clients = [0, 1, 2, 3].flatMap(() => [
      ask(() => fetch(token_endpoint, { method: 'POST', body: new URLSearchParams(form) })),
      ask(() => fetch(new URL(OAUTH_PATHS.jwks, url))),
    ])
    try {
      await eventually(() => expect(answers).toBeGreaterThan(50))
      await victim.kill()
      const before = answers
      await eventually(() => expect(answers).toBeGreaterThan(before + 200))
      await eventually(() => expect(balancer.log()).toMatch(/keyturn-1 is DOWN/))
    } finally {
      stopped = true
    }
    await Promise.all(clients)
    expect(failures).toEqual([])
  })
})

describeUnless(WITHOUT_HAPROXY)('a request that a replica took without answering it', () => {
  const FORM = { grant_type: 'client_credentials', client_id: 'x' }
  const opened: { close(): unknown }[] = []
  let taken: string[]

  beforeEach(async () => {
    taken = []
    const ports = [await dyingReplica(), await dyingReplica()]
    url = `http://127.0.0.1:${await freePort()}`
    balancer = await startHaProxy(
      url,
      ports.map((port) => `127.0.0.1:${port}`),
    )
  })
  afterEach(async () => {
    await balancer.stop()
    for (const one of opened.splice(0)) one.close()
  })

  /** Says that it is ready, and loses its connection with every other request. */
  async function dyingReplica(): Promise<number> {
    const server = createServer()
    server.on('stream', async (stream, { ':path': path = '' }) => {
      stream.on('error', () => {})
      if (path === '/readyz') return stream.respond({ ':status': 200 }, { endStream: true })
      await text(stream)
      taken.push(path)
      stream.session?.destroy()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.push(server)
    return (server.address() as AddressInfo).port
  }

  const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(new URL(path, url), { method: 'POST', body: new URLSearchParams(form), headers })

  it('is not sent again if it has an assertion, which works once', async () => {
    const assertion = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: 'a.b.c',
    }
    expect((await post(OAUTH_PATHS.token, { ...FORM, ...assertion })).status).toBe(502)
    expect(taken).toEqual([OAUTH_PATHS.token])
  })

  it('is not sent again if it has a DPoP proof, which works once', async () => {
    const headers = { dpop: 'a.b.c' }
    expect((await post(OAUTH_PATHS.token, { ...FORM, client_secret: 'x' }, headers)).status).toBe(502)
    expect(taken).toEqual([OAUTH_PATHS.token])
  })
})

/** Reads all of an answer. */
async function outcomeOf(response: Response): Promise<string> {
  await response.arrayBuffer()
  return response.ok ? 'ok' : `status ${response.status}`
}

/** Fails to authenticate as the administrator, from an address of this machine, and claims another one. */
async function postWrongSecret(localAddress: string): Promise<number | undefined> {
  const { token_endpoint, client_id } = admin
  const request = http.request(token_endpoint, {
    method: 'POST',
    agent: false,
    localAddress,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': '203.0.113.7' },
  })
  request.end(String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret: 'wrong' })))
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  await text(response)
  return response.statusCode
}

async function startBalancer(config?: string): Promise<void> {
  const addresses = replicas.map(({ listenUrl }) => new URL(listenUrl).host)
  balancer = await startHaProxy(url, addresses, config)
}

/** A running HAProxy. */
interface HaProxy {
  /** Everything that it has logged so far. */
  log(): string
  stop(): Promise<void>
}

/**
 * Starts it at the address of `url`, and waits until it reaches a replica that is ready.
 *
 * @param replicas Addresses, `host:port`, which the configuration knows as `KEYTURN_1` and so on.
 * @param config A file; otherwise the configuration that is shipped.
 */
async function startHaProxy(url: string, replicas: readonly string[], config = HAPROXY_CONFIG): Promise<HaProxy> {
  const names = Object.fromEntries(replicas.map((address, i) => [`KEYTURN_${i + 1}`, address]))
  const child = spawn(PROGRAM ?? '', ['-db', '-f', config], {
    env: { LISTEN: new URL(url).host, ...names },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      log += chunk
    })
  }
  const ended = once(child, 'exit').then(() => {
    throw new Error(`haproxy ended:\n${log}`)
  })
  ended.catch(() => {})
  const serves = eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200))
  await Promise.race([serves, ended])
  return { log: () => log, stop: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}
