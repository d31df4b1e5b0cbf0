/**
 * `keyturn serve --workers`: several processes that look like one server.
 */
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, runKeyturn, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { freePort, startPostgres, type TestPostgres } from '../support/postgres.ts'
import { childrenOf, HAS_PROC, isRunning, ownerOf } from '../support/proc.ts'
import { requestToken } from '../support/web-key-client.ts'

const FIXTURES = join(import.meta.dirname, '../support/tls')
/** Tests that look at single processes. Elsewhere than on Linux they are reported as skipped. */
const onLinux = HAS_PROC ? it : it.skip

let postgres: TestPostgres
let env: Record<string, string>
let server: Keyturn | undefined
let workers: number[] = []
const clients: { destroy(): void }[] = []

beforeAll(async () => {
  postgres = await startPostgres()
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
async function start(count: number, settings: Record<string, string> = {}): Promise<Keyturn> {
  const metrics = `127.0.0.1:${await freePort()}`
  server = await startKeyturn({
    env: { ...env, KEYTURN_METRICS_LISTEN: metrics, ...settings },
    args: ['--workers', String(count)],
  })
  metricsUrl = `http://${metrics}/metrics`
  await untilRunning(count)
  if (HAS_PROC) workers = childrenOf(pidOf(server))
  return server
}

let metricsUrl: string
const metricsText = async () => (await fetch(metricsUrl)).text()

async function untilRunning(count: number): Promise<void> {
  await eventually(async () => {
    expect(await metricsText()).toContain(`keyturn_workers{state="running"} ${count}\n`)
  })
}

function pidOf({ process }: Keyturn): number {
  return process.pid ?? Number.NaN
}

async function exitOf({ process }: Keyturn): Promise<{ code: number | null; signal: string | null }> {
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
  return { code: process.exitCode, signal: process.signalCode }
}

/** A request whose head a worker has read and whose body it waits for. */
async function beginRequest({ listenUrl }: Keyturn, form: string) {
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

async function formOf(running: Keyturn): Promise<string> {
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
})
