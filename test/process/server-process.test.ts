import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { checkHealth, watchHealth } from '../support/grpc-health.ts'
import { collect, type KeyturnProcess, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'

const ROOT = join(import.meta.dirname, '../..')
const BUSY_CLIENTS = 16

let server: KeyturnProcess | undefined
let postgres: TestPostgres
let databaseUrl: string
beforeAll(async () => {
  postgres = sharedPostgres()
  databaseUrl = await postgres.createDatabase()
})
afterAll(async () => {
  await postgres?.stop()
})

/** Several processes need PostgreSQL. */
function databaseOf(args: readonly string[]): Record<string, string> {
  return args.length === 0 ? {} : { KEYTURN_DATABASE_URL: databaseUrl, KEYTURN_MASTER_KEYS: generateMasterKey() }
}

const clients: { destroy(): void }[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await server?.kill()
  if (server !== undefined) await removeFolder(server.dataDir)
  server = undefined
})

async function start(options?: Parameters<typeof startKeyturn>[0]) {
  server = await startKeyturn(options)
  const { client_id, client_secret } = await server.admin()
  const form = String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }))
  return { running: server, form, url: new URL('/oauth/v2/token', server.listenUrl) }
}

/** Tells it to stop and waits until it takes no more connections. */
async function beginToStop({ process, listenUrl }: KeyturnProcess): Promise<void> {
  process.kill('SIGTERM')
  await eventually(async () => {
    const socket = connect(Number(new URL(listenUrl).port), '127.0.0.1')
    try {
      await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    } finally {
      socket.destroy()
    }
  })
}

async function exitCodeOf({ process }: KeyturnProcess): Promise<number | null> {
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
  return process.exitCode
}

/** A request whose head the server has read and whose body it waits for. */
async function beginRequest(url: URL, form: string): Promise<http.ClientRequest> {
  const request = http.request(url, {
    method: 'POST',
    agent: new http.Agent({ keepAlive: true }),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': form.length,
      expect: '100-continue',
    },
  })
  clients.push(request)
  request.flushHeaders()
  await once(request, 'continue')
  return request
}

/** A connection of HTTP/2, which may be cut when the server ends. */
async function openSession({ origin }: URL): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(origin)
  clients.push(session)
  session.on('error', () => {})
  await once(session, 'remoteSettings')
  return session
}

const aToken = expect.objectContaining({ access_token: expect.any(String), token_type: 'Bearer' })

describe('a server that is told to stop', () => {
  it('answers the HTTP/1.1 request that it has begun, then ends with exit code 0', async () => {
    const { running, form, url } = await start()
    const request = await beginRequest(url, form)
    const response = once(request, 'response') as Promise<[http.IncomingMessage]>

    await beginToStop(running)
    request.end(form)
    const [answer] = await response
    expect({ status: answer.statusCode, body: await json(answer) }).toEqual({ status: 200, body: aToken })
    expect(await exitCodeOf(running)).toBe(0)
  })

  it('says with that answer that the connection ends, so that no other request is sent on it', async () => {
    const { running, form, url } = await start()
    const request = await beginRequest(url, form)
    const response = once(request, 'response') as Promise<[http.IncomingMessage]>

    await beginToStop(running)
    request.end(form)
    const [answer] = await response
    await json(answer)
    expect(answer.headers.connection).toBe('close')
  })

  it('answers the HTTP/2 request that it has begun, then ends with exit code 0', async () => {
    const { running, form, url } = await start()
    const session = await openSession(url)
    const stream = session.request({
      ':method': 'POST',
      ':path': url.pathname,
      'content-type': 'application/x-www-form-urlencoded',
    })
    const response = once(stream, 'response') as Promise<[http2.IncomingHttpHeaders]>
    stream.write(form.slice(0, 10))
    // Frames are read in order: with the answer to the ping, the server has the head of the request.
    await new Promise<void>((done, failed) => session.ping((error) => (error === null ? done() : failed(error))))

    await beginToStop(running)
    stream.end(form.slice(10))
    const [headers] = await response
    expect({ status: headers[':status'], body: await json(stream) }).toEqual({ status: 200, body: aToken })
    expect(await exitCodeOf(running)).toBe(0)
  })

  it('does not wait for connections that ask for nothing', async () => {
    const { running, url } = await start()
    const agent = new http.Agent({ keepAlive: true })
    clients.push(agent)
    const request = http.get(new URL('/healthz', url), { agent })
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
    await json(answer)
    await openSession(url)

    expect(await running.stop()).toBe(0)
  })

  it('cuts off a client that never finishes its request', async () => {
    const { running, form, url } = await start()
    const request = await beginRequest(url, form)
    const end = once(request, 'response').then(
      () => 'answered',
      () => 'cut off',
    )

    expect(await running.stop()).toBe(0)
    expect(await end).toBe('cut off')
  })

  it('ends at once when it is told twice', async () => {
    const { running, form, url } = await start()
    const request = await beginRequest(url, form)
    request.on('error', () => {})

    await beginToStop(running)
    running.process.kill('SIGTERM')
    await exitCodeOf(running)
    expect(running.process.signalCode).toBe('SIGTERM')
  })
})

describe('npm start', () => {
  it('passes SIGTERM on to the server, which ends with exit code 0', async () => {
    const dataDir = await temporaryFolder()
    const env = {
      ...withoutKeyturn(process.env),
      KEYTURN_DATA_DIR: dataDir,
      KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_LISTEN: '127.0.0.1:0',
      KEYTURN_METRICS_LISTEN: 'off',
      KEYTURN_DRAIN_SECONDS: '0',
    }
    const npm = spawn('npm', ['start'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    try {
      const output = collect(npm)
      const closed = once(npm, 'close')
      await eventually(() => expect(output.stdout).toContain('Keyturn listens on'))
      npm.kill('SIGTERM')
      expect(await closed).toEqual([0, null])
    } finally {
      killGroup(npm)
      await removeFolder(dataDir)
    }
  })
})

/** The environment without the variables of the tests, which a server refuses as unknown. */
function withoutKeyturn(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('KEYTURN_')))
}

/** Kills what is left of a process group. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // There is none left.
  }
}

describe('a server that drains', () => {
  /** Long enough for what is looked at while it drains, on a busy machine too. */
  const DRAIN_SECONDS = '3'

  it('is not ready at once, serves on, old connections and new ones, and ends with exit code 0', async () => {
    const { running, form, url } = await start({ env: { KEYTURN_DRAIN_SECONDS: DRAIN_SECONDS } })
    const watching = watchHealth(running.listenUrl)
    clients.push({ destroy: () => watching.cancel() })
    await eventually(() => expect(watching.statuses).toEqual(['SERVING']))
    const session = await openSession(url)
    expect(await tokenOver(session, url, form)).toEqual({ status: 200, body: aToken })

    running.process.kill('SIGTERM')
    const probe = (path: string) =>
      fetch(new URL(path, url)).then(({ status, headers }) => [status, headers.get('connection')])
    await eventually(async () => expect(await probe('/readyz')).toEqual([503, 'close']))
    expect(await probe('/healthz')).toEqual([200, 'close'])
    expect(await checkHealth(running.listenUrl)).toBe('NOT_SERVING')
    const body = new URLSearchParams(form)
    const answer = await fetch(url, { method: 'POST', body })
    expect([answer.status, answer.headers.get('connection'), await answer.json()]).toEqual([200, 'close', aToken])
    await eventually(() => expect(watching.statuses).toEqual(['SERVING', 'NOT_SERVING']))
    expect(await exitCodeOf(running)).toBe(0)
    expect(running.output().stderr).toMatch(/"seconds":3.*draining/)
  })

  it.each([
    ['in one process', []],
    ['in two workers', ['--workers', '2']],
  ])('%s, loses nothing of clients that ask all the time and go when an answer says so', async (_name, args) => {
    const { running, form, url } = await start({
      env: { ...databaseOf(args), KEYTURN_DRAIN_SECONDS: DRAIN_SECONDS },
      args,
    })
    const load = keepAsking(url, form)
    await eventually(() => expect(load.answers()).toBeGreaterThan(200))
    running.process.kill('SIGTERM')
    await load.sentAway
    // Those that do not know of another place come back, and are served too.
    await Promise.all(Array.from({ length: BUSY_CLIENTS }, () => askOnce(url, form)))
    expect(load.failures).toEqual([])
    expect(await exitCodeOf(running)).toBe(0)
  })

  it('does not when it is interrupted at a terminal', async () => {
    const { running } = await start({ env: { KEYTURN_DRAIN_SECONDS: '300' } })
    expect(await running.stop('SIGINT')).toBe(0)
  })

  it('ends at once when it is told twice', async () => {
    const { running, url } = await start({ env: { KEYTURN_DRAIN_SECONDS: '300' } })
    running.process.kill('SIGTERM')
    await eventually(async () => expect((await fetch(new URL('/readyz', url))).status).toBe(503))
    running.process.kill('SIGTERM')
    await exitCodeOf(running)
    expect(running.process.signalCode).toBe('SIGTERM')
  })
})

/** A token request over HTTP/2. */
async function tokenOver(session: http2.ClientHttp2Session, { pathname }: URL, form: string) {
  const stream = session.request({
    ':method': 'POST',
    ':path': pathname,
    'content-type': 'application/x-www-form-urlencoded',
  })
  stream.end(form)
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  return { status: headers[':status'], body: await json(stream) }
}

/** A token request over HTTP/1.1, and whether its answer ends the connection. */
async function askOnce(url: URL, form: string, agent = new http.Agent()): Promise<boolean> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': form.length }
  const request = http.request(url, { method: 'POST', agent, headers })
  request.end(form)
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  expect(await json(answer)).toEqual(aToken)
  return answer.headers.connection === 'close'
}

/** Clients with one connection each, on which they ask again and again until an answer ends it. */
function keepAsking(url: URL, form: string) {
  const failures: unknown[] = []
  let answers = 0
  const ask = async (): Promise<void> => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    clients.push(agent)
    for (let isOver = false; !isOver; answers += 1) isOver = await askOnce(url, form, agent)
  }
  const sentAway = Promise.all(
    Array.from({ length: BUSY_CLIENTS }, () => ask().catch((error: unknown) => failures.push(error))),
  )
  return { failures, sentAway, answers: () => answers }
}

describe('standard output of a server', () => {
  it('has only what a person needs to go on, and standard error only JSON lines', async () => {
    const { running } = await start({ makesDatabase: true })
    await running.stop()
    const { stdout, stderr } = running.output()
    expect(stdout.trimEnd().split('\n')).toEqual([
      `Keyturn listens on ${running.listenUrl} (base URL ${running.baseUrl}).`,
      expect.stringMatching(/^The administrator's credentials were written to .+\. Keep that file safe\.$/),
      expect.stringMatching(/^Next: npx keyturn keys list --credentials .+$/),
    ])
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 'info' })
  })
})
