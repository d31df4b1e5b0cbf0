/**
 * Workers of `keyturn serve --workers` that are killed, also while the database is away.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { childrenOf, isRunning, ownerOf } from '../support/proc.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { getFresh, pidOf, WorkerFixture } from './worker-fixture.ts'

const fixture = new WorkerFixture()
/** Tests that look at single processes. */
const onLinux = itUnless(NOT_LINUX)

beforeEach(() => fixture.begin())
afterEach(() => fixture.end())

describe('a worker that dies', () => {
  onLinux('takes only its own connections with it, and comes back', async () => {
    const running = await fixture.start(3)
    const url = `${running.listenUrl}/readyz`
    const port = Number(new URL(url).port)
    const lines = await Promise.all(Array.from({ length: 24 }, () => openLine(url)))
    const owners = new Map(lines.map((line) => [line, ownerOf(fixture.workers, { server: port, client: line.port })]))
    const victim = owners.get(lines[0]!)!
    const load = Promise.all(lines.map((line) => line.askUntilBroken()))
    await eventually(() => expect(lines.every(({ answers }) => answers > 5)).toBe(true))

    process.kill(victim, 'SIGKILL')
    const fresh = await Promise.all(Array.from({ length: 50 }, () => getFresh(url)))
    expect(new Set(fresh)).toEqual(new Set([200]))
    await fixture.untilRunning(3)
    expect(isRunning(victim)).toBe(false)

    for (const line of lines) line.enough()
    await load
    expect(lines.filter(({ broken }) => broken)).toEqual(lines.filter((line) => owners.get(line) === victim))
    expect(await fixture.metricsText()).toContain('keyturn_worker_restarts_total 1\n')
    expect(running.output().stderr).toMatch(/"signal":"SIGKILL".*a worker ended and will be restarted/)
  })
})

describe('workers that die while the database is away', () => {
  onLinux('leave the port to those that wait for it, and all serve when it is back', async () => {
    const url = new URL(fixture.env.KEYTURN_DATABASE_URL!)
    const database = Number(url.port)
    let proxy = await startTcpProxy(database)
    fixture.clients.push({ destroy: () => void proxy.close() })
    url.port = String(proxy.port)
    const running = await fixture.start(2, { KEYTURN_DATABASE_URL: url.href })
    const replaced = async (dead: number) => {
      await eventually(() => {
        const now = childrenOf(pidOf(running))
        expect([now.length, now.includes(dead)]).toEqual([2, false])
      })
      fixture.workers.push(...childrenOf(pidOf(running)))
      return childrenOf(pidOf(running))
    }
    const ask = async () => [
      await getFresh(`${running.listenUrl}/healthz`),
      await getFresh(`${running.listenUrl}/readyz`),
    ]
    await proxy.close()

    const [first, second] = fixture.workers as [number, number]
    process.kill(first, 'SIGKILL')
    const [third] = (await replaced(first)).filter((pid) => pid !== second) as [number]
    process.kill(second, 'SIGKILL')
    await eventually(async () => expect(await ask()).toEqual([200, 503]))
    await replaced(second)
    process.kill(third, 'SIGKILL')
    await eventually(async () => expect(await ask()).toEqual([200, 503]))

    proxy = await startTcpProxy(database, proxy.port)
    await fixture.untilRunning(2)
    expect(await ask()).toEqual([200, 200])
  })
})

/** One connection that asks again and again. */
async function openLine(url: string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  fixture.clients.push(agent)
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
