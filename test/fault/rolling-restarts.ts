/**
 * Restarts of three replicas behind HAProxy, one after the other, while clients of HTTP/1.1 and HTTP/2 ask all the time.
 */
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { OAUTH_PATHS } from '../../src/oauth/endpoints.ts'
import { eventually } from '../support/eventually.ts'
import { HAPROXY_CONFIG, startHaProxy } from '../support/haproxy.ts'
import {
  type AdminCredentials,
  type KeyturnProcess,
  removeFolder,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { freePort } from '../support/postgres.ts'
import { requestToken } from '../support/web-key-client.ts'

const REPLICAS = 3
/** Of each protocol. */
const CLIENTS = 4
const DRAIN_SECONDS = 1
/** Not repeated by HAProxy if it is lost, as a token request would be. */
const LIST_KEYS = '/iam.webkey.v2.WebKeyService/ListWebKeys'

/** What came of it. */
export interface RollingRestarts {
  /** Answers with 200. */
  readonly answers: number
  /** All others. */
  readonly failures: readonly string[]
}

/** Sends a request and returns the status of its answer. */
type Send = (path: string, body: string, headers: Record<string, string>) => Promise<number | undefined>

/** What to restart. */
export interface RestartOptions {
  readonly restarts: number
  /** What HAProxy speaks to the replicas. */
  readonly protocol: 'HTTP/1.1' | 'HTTP/2'
  /** Of an empty database. */
  readonly databaseUrl: string
}

/** Restarts a replica so often, each time the next one. */
export async function restartInTurn({ restarts, protocol, databaseUrl }: RestartOptions): Promise<RollingRestarts> {
  const folder = await temporaryFolder()
  const url = `http://127.0.0.1:${await freePort()}`
  const env = {
    KEYTURN_DATABASE_URL: databaseUrl,
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_CREDENTIALS: join(folder, 'admin.json'),
    KEYTURN_BASE_URL: url,
    KEYTURN_TRUSTED_PROXIES: '127.0.0.1',
    KEYTURN_DRAIN_SECONDS: String(DRAIN_SECONDS),
    KEYTURN_LOG_LEVEL: 'warn',
  }
  const addresses: string[] = []
  for (let i = 0; i < REPLICAS; i += 1) addresses.push(`127.0.0.1:${await freePort()}`)
  const start = (i: number) => startKeyturn({ env: { ...env, KEYTURN_LISTEN: addresses[i] ?? '' }, dataDir: folder })
  const undo: (() => Promise<unknown>)[] = [() => removeFolder(folder)]
  try {
    const replicas: KeyturnProcess[] = []
    for (let i = 0; i < REPLICAS; i += 1) replicas.push(await start(i))
    undo.push(() => Promise.all(replicas.map((replica) => replica.kill())))
    const proxy = await startHaProxy(url, addresses, { config: await configFor(folder, protocol) })
    undo.push(() => proxy.stop())

    const load = await startLoad(url, await replicas[0]!.admin())
    undo.push(() => load.stop())
    const isUp = (i: number) => proxy.log().match(new RegExp(`keyturn-${i + 1} is UP`, 'g'))?.length ?? 0
    for (let round = 0; round < restarts; round += 1) {
      const i = round % REPLICAS
      const ups = isUp(i)
      expect(await replicas[i]?.stop()).toBe(0)
      replicas[i] = await start(i)
      await eventually(() => expect(isUp(i)).toBeGreaterThan(ups))
    }
    return await load.stop()
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

/** The configuration that is shipped, for one replica more, with checks that fit into a drain as short as that of the test. */
async function configFor(folder: string, protocol: RestartOptions['protocol']): Promise<string> {
  const shipped = await readFile(HAPROXY_CONFIG, 'utf8')
  const proto = protocol === 'HTTP/2' ? 'proto h2 ' : ''
  const changed = shipped.replace('proto h2 check inter 3s fastinter 1s downinter 1s', `${proto}check inter 250ms`)
  expect(changed).not.toBe(shipped)
  const path = join(folder, 'haproxy.cfg')
  await writeFile(path, `${changed}  server keyturn-3 "\${KEYTURN_3}"\n`)
  return path
}

async function startLoad(url: string, admin: AdminCredentials) {
  const token = await requestToken({ ...admin, token_endpoint: `${url}${OAUTH_PATHS.token}` })
  const { client_id, client_secret } = admin
  const form = `${new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })}`
  const failures: string[] = []
  let answers = 0
  let stopped = false
  const ask = async (send: Send, name: string): Promise<void> => {
    for (let i = 0; !stopped; i += 1) {
      const [path, body, headers] =
        i % 2 === 0
          ? [OAUTH_PATHS.token, form, { 'content-type': 'application/x-www-form-urlencoded' }]
          : [LIST_KEYS, '{}', { 'content-type': 'application/json', authorization: `Bearer ${token}` }]
      const outcome = await send(path, body, headers as Record<string, string>).catch(String)
      if (outcome === 200) answers += 1
      else failures.push(`${name} ${path}: ${outcome}`)
    }
  }
  const agents = Array.from({ length: CLIENTS }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  const sessions = Array.from({ length: CLIENTS }, () => connect(url).on('error', () => {}))
  const asking = Promise.all([
    ...agents.map((agent) => ask(overHttp1(url, agent), 'HTTP/1.1')),
    ...sessions.map((session) => ask(overHttp2(session), 'HTTP/2')),
  ])
  await eventually(() => expect(answers).toBeGreaterThan(100))
  return {
    stop: async (): Promise<RollingRestarts> => {
      stopped = true
      await asking
      for (const one of [...agents, ...sessions]) one.destroy()
      return { answers, failures }
    },
  }
}

function overHttp1(url: string, agent: Agent): Send {
  return async (path, body, headers) => {
    const request = requestHttp(url + path, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': body.length },
    })
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await text(response)
    return response.statusCode
  }
}

function overHttp2(session: ClientHttp2Session): Send {
  return async (path, body, headers) => {
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers })
    stream.end(body)
    const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    await text(stream)
    return Number(head[':status'])
  }
}
