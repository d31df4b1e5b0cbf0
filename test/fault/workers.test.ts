/**
 * `keyturn serve --workers`: several processes that look like one server.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import {
  type KeyturnProcess,
  removeFolder,
  runKeyturn,
  spawnKeyturn,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { freePort, TEST_PASSWORD, type TestPostgres } from '../support/postgres.ts'
import { childrenOf, isRunning, ownerOf } from '../support/proc.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { requestToken } from '../support/web-key-client.ts'

const FIXTURES = join(import.meta.dirname, '../support/tls')
/** Tests that look at single processes. */
const onLinux = itUnless(NOT_LINUX)

let postgres: TestPostgres
let env: Record<string, string>
let server: KeyturnProcess | undefined
let workers: number[] = []
const clients: { destroy(): void }[] = []

beforeAll(async () => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  env = { KEYTURN_DATABASE_URL: await postgres.createDatabase(), KEYTURN_MASTER_KEYS: generateMasterKey() }
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await server?.kill()
  for (const pid of workers) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  if (server !== undefined) await removeFolder(server.dataDir)
  server = undefined
  workers = []
})
afterAll(async () => {
  await postgres?.stop()
})

/** Starts the server and waits until all its workers serve. */
async function start(
  count: number,
  settings: Record<string, string> = {},
  options: { readonly leadsGroup?: boolean } = {},
): Promise<KeyturnProcess> {
  const metrics = `127.0.0.1:${await freePort()}`
  server = await startKeyturn({
    env: { ...env, KEYTURN_METRICS_LISTEN: metrics, ...settings },
    args: ['--workers', String(count)],
    ...options,
  })
  metricsUrl = `http://${metrics}/metrics`
  await untilRunning(count)
  if (NOT_LINUX === undefined) workers = childrenOf(pidOf(server))
  return server
}

let metricsUrl: string
const metricsText = async () => (await fetch(metricsUrl)).text()

async function untilRunning(count: number): Promise<void> {
  await eventually(async () => {
    expect(await metricsText()).toContain(`keyturn_workers{state="running"} ${count}\n`)
  })
}

function pidOf({ process }: KeyturnProcess): number {
  return process.pid ?? Number.NaN
}

async function exitOf({ process }: KeyturnProcess): Promise<{ code: number | null; signal: string | null }> {
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
  return { code: process.exitCode, signal: process.signalCode }
}

/** A request whose head a worker has read and whose body it waits for. */
async function beginRequest({ listenUrl }: KeyturnProcess, form: string) {
  const request = http.request(new URL('/oauth/v2/token', listenUrl), {
    method: 'POST',
    agent: new http.Agent(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': form.length,
      expect: '100-continue',
    },
  })
  clients.push(request)
  const response = once(request, 'response') as Promise<[http.IncomingMessage]>
  response.catch(() => {})
  request.flushHeaders()
  await once(request, 'continue')
  return { request, response }
}

async function formOf(running: KeyturnProcess): Promise<string> {
  const { client_id, client_secret } = await running.admin()
  return String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }))
}

/** A request on a connection of its own. */
async function getFresh(url: string): Promise<number | undefined> {
  const [response] = (await once(http.get(url, { agent: false }), 'response')) as [http.IncomingMessage]
  await text(response)
  return response.statusCode
}

describe('a server of several workers', () => {
  onLinux('issues tokens on one port, each worker by itself', async () => {
    const running = await start(3)
    const admin = await running.admin()
    expect(workers).toHaveLength(3)
    for (const alone of workers) {
      const others = workers.filter((pid) => pid !== alone)
      for (const pid of others) process.kill(pid, 'SIGSTOP')
      const form = await formOf(running)
      const { request, response } = await beginRequest(running, form)
      const { localPort } = request.socket as Socket
      expect(ownerOf(workers, { server: Number(new URL(running.listenUrl).port), client: Number(localPort) })).toBe(
        alone,
      )
      request.end(form)
      const [answer] = await response
      expect(await json(answer)).toMatchObject({ token_type: 'Bearer' })
      for (const pid of others) process.kill(pid, 'SIGCONT')
    }
    expect(await requestToken(admin)).toEqual(expect.any(String))
  })

  it('turns nobody away while the other workers start', async () => {
    const metrics = `127.0.0.1:${await freePort()}`
    metricsUrl = `http://${metrics}/metrics`
    const running = await startKeyturn({
      env: { ...env, KEYTURN_METRICS_LISTEN: metrics },
      args: ['--workers', '3'],
    })
    server = running
    let all = false
    const complete = untilRunning(3).then(() => {
      all = true
    })
    const statuses = new Set<number | undefined>()
    while (!all) statuses.add(await getFresh(`${running.listenUrl}/readyz`))
    await complete
    expect(statuses).toEqual(new Set([200]))
    if (NOT_LINUX === undefined) workers = childrenOf(pidOf(running))
  })

  it('shares a port that it was left to pick, over HTTP/1.1, cleartext HTTP/2 and TLS', async () => {
    const running = await start(2)
    expect(new URL(running.listenUrl).port).not.toBe('0')
    expect(await getFresh(`${running.listenUrl}/readyz`)).toBe(200)
    expect(await http2Status(running.listenUrl)).toBe(200)
    expect(await running.stop()).toBe(0)

    const files = { cert: join(FIXTURES, 'first.cert.pem'), key: join(FIXTURES, 'first.key.pem') }
    const secure = await start(2, { KEYTURN_TLS_CERT_FILE: files.cert, KEYTURN_TLS_KEY_FILE: files.key })
    expect(secure.listenUrl).toMatch(/^https:/)
    const get = https.get(`${secure.listenUrl}/readyz`, { agent: false, rejectUnauthorized: false })
    const [response] = (await once(get, 'response')) as [http.IncomingMessage]
    await text(response)
    expect(response.statusCode).toBe(200)
    expect(await http2Status(secure.listenUrl)).toBe(200)
  })

  it('prints what one process prints, once', async () => {
    const running = await start(2)
    await running.stop()
    const { stdout, stderr } = running.output()
    expect(stdout.trimEnd().split('\n')).toEqual([
      `Keyturn listens on ${running.listenUrl} (base URL ${running.baseUrl}).`,
      expect.stringMatching(/^The administrator's credentials were written to .+\. Keep that file safe\.$/),
      expect.stringMatching(/^Next: npx keyturn keys list --credentials .+$/),
    ])
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 'info' })
  })

  it('answers on the metrics address with the sums of all workers', async () => {
    const running = await start(2)
    for (let i = 0; i < 20; i += 1) expect(await getFresh(`${running.listenUrl}/readyz`)).toBe(200)
    const metrics = await metricsText()
    expect(metrics).toMatch(/^keyturn_request_duration_seconds_count\{route="\/readyz",status="200".*\} 20$/m)
    expect(metrics).toMatch(/^keyturn_web_keys\{state="active".*\} 1$/m)
    expect(metrics).toMatch(/^keyturn_worker_restarts_total 0$/m)
  })

  onLinux('tells no worker a secret by its command line', async () => {
    await start(2)
    for (const pid of workers) {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8')
      expect(line).toContain('serve\0--workers\x002')
      expect(line).not.toContain(TEST_PASSWORD)
      expect(line).not.toContain(env.KEYTURN_MASTER_KEYS)
    }
  })
})

describe('a worker that dies', () => {
  onLinux('takes only its own connections with it, and comes back', async () => {
    const running = await start(3)
    const url = `${running.listenUrl}/readyz`
    const port = Number(new URL(url).port)
    const lines = await Promise.all(Array.from({ length: 24 }, () => openLine(url)))
    const owners = new Map(lines.map((line) => [line, ownerOf(workers, { server: port, client: line.port })]))
    const victim = owners.get(lines[0]!)!
    const load = Promise.all(lines.map((line) => line.askUntilBroken()))
    await eventually(() => expect(lines.every(({ answers }) => answers > 5)).toBe(true))

    process.kill(victim, 'SIGKILL')
    const fresh = await Promise.all(Array.from({ length: 50 }, () => getFresh(url)))
    expect(new Set(fresh)).toEqual(new Set([200]))
    await untilRunning(3)
    expect(isRunning(victim)).toBe(false)

    for (const line of lines) line.enough()
    await load
    expect(lines.filter(({ broken }) => broken)).toEqual(lines.filter((line) => owners.get(line) === victim))
    expect(await metricsText()).toContain('keyturn_worker_restarts_total 1\n')
    expect(running.output().stderr).toMatch(/"signal":"SIGKILL".*a worker ended and will be restarted/)
  })

  onLinux('does not take its counts with it', async () => {
    const running = await start(2)
    for (let i = 0; i < 10; i += 1) await getFresh(`${running.listenUrl}/healthz`)
    const count = async () =>
      Number(/^keyturn_request_duration_seconds_count\{route="\/healthz".*\} (\d+)$/m.exec(await metricsText())?.[1])
    expect(await count()).toBe(10)
    for (const pid of workers) process.kill(pid, 'SIGKILL')
    await eventually(async () => expect(await metricsText()).toContain('keyturn_worker_restarts_total 2\n'))
    await untilRunning(2)
    expect(await count()).toBe(10)
    await getFresh(`${running.listenUrl}/healthz`)
    expect(await count()).toBe(11)
  })

  onLinux('leaves the port as it was, even if all others died too', async () => {
    const running = await start(2)
    for (const pid of workers) process.kill(pid, 'SIGKILL')
    await eventually(async () => expect(await getFresh(`${running.listenUrl}/readyz`)).toBe(200))
    await untilRunning(2)
  })
})

describe('workers that die while the database is away', () => {
  onLinux('leave the port to those that wait for it, and all serve when it is back', async () => {
    const url = new URL(env.KEYTURN_DATABASE_URL!)
    const database = Number(url.port)
    let proxy = await startTcpProxy(database)
    clients.push({ destroy: () => void proxy.close() })
    url.port = String(proxy.port)
    const running = await start(2, { KEYTURN_DATABASE_URL: url.href })
    const replaced = async (dead: number) => {
      await eventually(() => {
        const now = childrenOf(pidOf(running))
        expect([now.length, now.includes(dead)]).toEqual([2, false])
      })
      workers.push(...childrenOf(pidOf(running)))
      return childrenOf(pidOf(running))
    }
    const ask = async () => [
      await getFresh(`${running.listenUrl}/healthz`),
      await getFresh(`${running.listenUrl}/readyz`),
    ]
    await proxy.close()

    const [first, second] = workers as [number, number]
    process.kill(first, 'SIGKILL')
    const [third] = (await replaced(first)).filter((pid) => pid !== second) as [number]
    process.kill(second, 'SIGKILL')
    await eventually(async () => expect(await ask()).toEqual([200, 503]))
    await replaced(second)
    process.kill(third, 'SIGKILL')
    await eventually(async () => expect(await ask()).toEqual([200, 503]))

    proxy = await startTcpProxy(database, proxy.port)
    await untilRunning(2)
    expect(await ask()).toEqual([200, 200])
  })
})

describe('the start of several workers', () => {
  it('is refused on the embedded database', async () => {
    const { code, stderr } = await runKeyturn(['serve', '--workers', '2'])
    expect(code).toBe(2)
    expect(stderr).toContain('KEYTURN_WORKERS: more than one process needs PostgreSQL: set KEYTURN_DATABASE_URL')
  })

  it('ends with the message of the first worker, once, and its exit code', async () => {
    const folder = await temporaryFolder()
    const port = await freePort()
    const taken = http.createServer().listen(port, '127.0.0.1')
    clients.push({ destroy: () => taken.close() })
    const { code, stderr } = await runKeyturn(['serve', '--workers', '2'], {
      ...env,
      KEYTURN_DATA_DIR: folder,
      KEYTURN_LISTEN: `127.0.0.1:${port}`,
      KEYTURN_METRICS_LISTEN: 'off',
    })
    await removeFolder(folder)
    expect(code).toBe(1)
    expect(stderr.match(/^keyturn: cannot listen on .+$/gm)).toHaveLength(1)
  })

  it('ends with exit code 2 if the configuration names a file that is not there', async () => {
    const { KEYTURN_MASTER_KEYS: _, ...rest } = env
    const { code, stderr } = await runKeyturn(['serve', '--workers', '2'], {
      ...rest,
      KEYTURN_MASTER_KEYS_FILE: '/nowhere/master-keys',
      KEYTURN_METRICS_LISTEN: 'off',
    })
    expect(code).toBe(2)
    expect(stderr.match(/^keyturn: the configuration is not valid:\n.*\/nowhere\/master-keys.*$/gm)).toHaveLength(1)
  })

  onLinux('can be interrupted while the first one waits for the database, with exit code 0', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const asked = once(silent, 'connection') as Promise<[Socket]>
    const child = spawnKeyturn(['serve', '--workers', '2'], {
      ...env,
      KEYTURN_LISTEN: '127.0.0.1:0',
      KEYTURN_METRICS_LISTEN: 'off',
      KEYTURN_CREDENTIALS: '/nowhere/admin.json',
      KEYTURN_DATABASE_URL: `postgres://nobody@127.0.0.1:${(silent.address() as AddressInfo).port}/x`,
    })
    const [socket] = await asked
    clients.push(socket, { destroy: () => silent.close() })
    workers = childrenOf(child.pid!)
    expect(workers).toHaveLength(1)
    child.kill('SIGTERM')
    await once(child, 'exit')
    expect({ code: child.exitCode, signal: child.signalCode }).toEqual({ code: 0, signal: null })
    expect(workers.filter(isRunning)).toEqual([])
  })
})

describe('several workers that are told to stop', () => {
  for (const [how, target] of [
    ['by a signal to the first process', (pid: number) => pid],
    ['by a signal to all of them, as Ctrl-C sends it', (pid: number) => -pid],
  ] as const) {
    onLinux(`${how} answer what they have begun, and leave nothing behind`, async () => {
      const running = await start(3, {}, { leadsGroup: true })
      const form = await formOf(running)
      const begun = await Promise.all(Array.from({ length: 12 }, () => beginRequest(running, form)))
      process.kill(target(pidOf(running)), how.includes('Ctrl-C') ? 'SIGINT' : 'SIGTERM')
      await eventually(async () => {
        await expect(getFresh(`${running.listenUrl}/healthz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      })
      for (const { request } of begun) request.end(form)
      for (const { response } of begun) {
        const [answer] = await response
        expect({ status: answer.statusCode, body: await json(answer) }).toMatchObject({
          status: 200,
          body: { token_type: 'Bearer' },
        })
      }
      expect(await exitOf(running)).toEqual({ code: 0, signal: null })
      expect(workers.filter(isRunning)).toEqual([])
    })
  }

  onLinux('end at once at the second signal', async () => {
    const running = await start(2)
    await beginRequest(running, await formOf(running))
    running.process.kill('SIGTERM')
    await eventually(async () => {
      await expect(getFresh(`${running.listenUrl}/healthz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    })
    running.process.kill('SIGTERM')
    expect(await exitOf(running)).toEqual({ code: null, signal: 'SIGTERM' })
    await eventually(() => expect(workers.filter(isRunning)).toEqual([]))
  })

  onLinux('do not wait for ever for one that hangs', async () => {
    const running = await start(2)
    process.kill(workers[0]!, 'SIGSTOP')
    expect(await running.stop()).toBe(0)
    expect(workers.filter(isRunning)).toEqual([])
    expect(running.output().stderr).toContain('a worker did not stop in time and is ended')
  })

  onLinux('end in order although the database resets their connections when they say goodbye', async () => {
    const url = new URL(env.KEYTURN_DATABASE_URL!)
    const proxy = await startTcpProxy(Number(url.port), undefined, { rude: true })
    clients.push({ destroy: () => void proxy.close() })
    url.port = String(proxy.port)
    const running = await start(2, { KEYTURN_DATABASE_URL: url.href })
    expect(await running.stop()).toBe(0)
    expect(workers.filter(isRunning)).toEqual([])
    expect(running.output().stderr).not.toContain('did not stop')
  })

  onLinux('stop by themselves if the first process is killed, and still answer what they have begun', async () => {
    const running = await start(3)
    const form = await formOf(running)
    const begun = await Promise.all(Array.from({ length: 6 }, () => beginRequest(running, form)))
    await running.kill()
    await eventually(async () => {
      await expect(getFresh(`${running.listenUrl}/healthz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    })
    for (const { request } of begun) request.end(form)
    for (const { response } of begun) {
      const [answer] = await response
      expect(await json(answer)).toMatchObject({ token_type: 'Bearer' })
    }
    await eventually(() => expect(workers.filter(isRunning)).toEqual([]))
  })
})

async function http2Status(url: string): Promise<unknown> {
  const session = http2.connect(url, { rejectUnauthorized: false })
  clients.push(session)
  session.on('error', () => {})
  const stream = session.request({ ':path': '/readyz' })
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  await text(stream)
  session.close()
  return headers[':status']
}

/** One connection that asks again and again. */
async function openLine(url: string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  clients.push(agent)
  let stopped = false
  const ask = async (): Promise<Socket> => {
    const request = http.get(url, { agent })
    // A connection may break after the head of an answer, too.
    request.on('error', () => {})
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    await text(response)
    return request.socket as Socket
  }
  const line = {
    port: Number((await ask()).localPort),
    answers: 0,
    broken: false,
    askUntilBroken: async () => {
      while (!stopped && !line.broken) {
        const socket = await ask().catch(() => undefined)
        if (socket?.localPort === line.port) line.answers += 1
        else line.broken = true
      }
    },
    enough: () => {
      stopped = true
    },
  }
  return line
}
