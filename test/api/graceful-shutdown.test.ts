/**
 * What clients get from a server while it stops. How a signal stops a process is in `test/process/server-process.test.ts`.
 */
import { once } from 'node:events'
import type http from 'node:http'
import type { IncomingHttpHeaders } from 'node:http2'
import { json } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { checkHealth, watchHealth } from '../support/grpc-health.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import {
  aToken,
  beginStream,
  TestClients,
  type TokenRequest,
  tokenRequestTo,
  untilClosed,
} from '../support/stopping-server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const clients = new TestClients()
let server: Keyturn | undefined
afterEach(async () => {
  clients.close()
  await removeServers(server)
  server = undefined
})

async function start(env: Record<string, string> = {}): Promise<{ running: Keyturn; request: TokenRequest }> {
  server = await startKeyturnInProcess({ env })
  return { running: server, request: await tokenRequestTo(server) }
}

describe('a server that is told to stop', () => {
  it('answers the HTTP/1.1 request that it has begun, and says that the connection ends', async () => {
    const { running, request } = await start()
    const begun = await clients.beginRequest(request)
    const response = once(begun, 'response') as Promise<[http.IncomingMessage]>

    const stopped = running.stop()
    await untilClosed(running)
    begun.end(request.form)
    const [answer] = await response
    expect({ status: answer.statusCode, body: await json(answer) }).toEqual({ status: 200, body: aToken })
    // So that no other request is sent on it.
    expect(answer.headers.connection).toBe('close')
    await stopped
  })

  it('answers the HTTP/2 request that it has begun', async () => {
    const { running, request } = await start()
    const session = await clients.openSession(request.url)
    const stream = beginStream(session, request.url)
    const response = once(stream, 'response') as Promise<[IncomingHttpHeaders]>
    stream.write(request.form.slice(0, 10))
    // Frames are read in order: with the answer to the ping, the server has the head of the request.
    await new Promise<void>((done, failed) => session.ping((error) => (error === null ? done() : failed(error))))

    const stopped = running.stop()
    await untilClosed(running)
    stream.end(request.form.slice(10))
    const [headers] = await response
    expect({ status: headers[':status'], body: await json(stream) }).toEqual({ status: 200, body: aToken })
    await stopped
  })
})

it('a server stops although its database does not answer, and says what may be lost', async () => {
  const postgres = sharedPostgres()
  const url = new URL(await postgres.createMigratedDatabase())
  const proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const { running, request } = await start({
    KEYTURN_DATABASE_URL: url.href,
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_DRAIN_SECONDS: '0',
  })
  const answer = await fetch(request.url, { method: 'POST', body: new URLSearchParams(request.form) })
  expect(await answer.json()).toEqual(aToken)
  proxy.freeze()
  await running.stop()
  expect(running.output().stderr).toContain('the database did not confirm the last writes in time')
  await proxy.close()
  await postgres.stop()
})

describe('a server that drains', () => {
  /** Long enough for what is looked at while it drains, on a busy machine too. */
  const env = { KEYTURN_DRAIN_SECONDS: '6' }

  it('is not ready at once, and serves on, old connections and new ones', async () => {
    const { running, request } = await start(env)
    const { url, form } = request
    const watching = watchHealth(running.listenUrl)
    clients.add({ destroy: () => watching.cancel() })
    await eventually(() => expect(watching.statuses).toEqual(['SERVING']))
    const stream = beginStream(await clients.openSession(url), url)
    stream.end(form)
    expect(await json(stream)).toEqual(aToken)

    const stopped = running.stop()
    const probe = (path: string) =>
      fetch(new URL(path, url)).then(({ status, headers }) => [status, headers.get('connection')])
    await eventually(async () => expect(await probe('/readyz')).toEqual([503, 'close']))
    expect(await probe('/healthz')).toEqual([200, 'close'])
    expect(await checkHealth(running.listenUrl)).toBe('NOT_SERVING')
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
    expect([answer.status, answer.headers.get('connection'), await answer.json()]).toEqual([200, 'close', aToken])
    await eventually(() => expect(watching.statuses).toEqual(['SERVING', 'NOT_SERVING']))
    await stopped
    expect(running.output().stderr).toMatch(/"seconds":6.*draining/)
  })
})
