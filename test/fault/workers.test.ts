/**
 * `keyturn serve --workers`: several processes that look like one server.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { freePort } from '../support/free-port.ts'
import {
  type KeyturnProcess,
  removeFolder,
  requestToken,
  runKeyturn,
  spawnKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { TEST_PASSWORD } from '../support/new-database.ts'
import { childrenOf, isRunning, ownerOf } from '../support/proc.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { formOf, getFresh, WorkerFixture } from './worker-fixture.ts'

const fixture = new WorkerFixture()
/** Tests that look at single processes. */
const onLinux = itUnless(NOT_LINUX)

describe('a server of several workers', () => {
  /** What `/readyz` answered from the moment on when the first worker served until all did. */
  const statuses = new Set<number | undefined>()
  let running: KeyturnProcess

  beforeAll(async () => {
    await fixture.begin()
    running = await fixture.startFirst(3)
    let all = false
    const complete = fixture.untilRunning(3).finally(() => {
      all = true
    })
    while (!all) statuses.add(await getFresh(`${running.listenUrl}/readyz`))
    await complete
  })
  afterAll(() => fixture.end())

  it('turns nobody away while the other workers start', () => {
    expect(statuses).toEqual(new Set([200]))
  })

  onLinux('issues tokens on one port, each worker by itself', async () => {
    expect(fixture.workers).toHaveLength(3)
    for (const alone of fixture.workers) {
      const others = fixture.workers.filter((pid) => pid !== alone)
      for (const pid of others) process.kill(pid, 'SIGSTOP')
      const form = await formOf(running)
      const { request, response } = await fixture.beginRequest(running, form)
      const { localPort } = request.socket as Socket
      const sides = { server: Number(new URL(running.listenUrl).port), client: Number(localPort) }
      expect(ownerOf(fixture.workers, sides)).toBe(alone)
      request.end(form)
      const [answer] = await response
      expect(await json(answer)).toMatchObject({ token_type: 'Bearer' })
      for (const pid of others) process.kill(pid, 'SIGCONT')
    }
    expect(await requestToken(await running.admin())).toEqual(expect.any(String))
  })

  it('answers on the metrics address with the sums of all workers', async () => {
    for (let i = 0; i < 20; i += 1) expect(await getFresh(`${running.listenUrl}/healthz`)).toBe(200)
    const metrics = await fixture.metricsText()
    expect(metrics).toMatch(/^keyturn_request_duration_seconds_count\{route="\/healthz",status="200".*\} 20$/m)
    expect(metrics).toMatch(/^keyturn_web_keys\{state="active".*\} 1$/m)
    expect(metrics).toMatch(/^keyturn_worker_restarts_total 0$/m)
  })

  onLinux('tells no worker a secret by its command line', async () => {
    expect(fixture.workers).toHaveLength(3)
    for (const pid of fixture.workers) {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8')
      expect(line).toContain('serve\0--workers\x003')
      expect(line).not.toContain(TEST_PASSWORD)
      expect(line).not.toContain(fixture.env.KEYTURN_MASTER_KEYS)
    }
  })

  it('prints what one process prints, once', async () => {
    await running.stop()
    const { stdout, stderr } = running.output()
    expect(stdout.trimEnd().split('\n')).toEqual([
      `Keyturn listens on ${running.listenUrl} (base URL ${running.baseUrl}).`,
      expect.stringMatching(/^The administrator's credentials were written to .+\. Keep that file safe\.$/),
      expect.stringMatching(/^Next: (npx )?keyturn keys list --credentials .+$/),
    ])
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 'info' })
  })
})

describe('the start of several workers', () => {
  beforeEach(() => fixture.begin())
  afterEach(() => fixture.end())

  it('ends with the message of the first worker, once, and its exit code', async () => {
    const folder = await temporaryFolder()
    const port = await freePort()
    const taken = http.createServer().listen(port, '127.0.0.1')
    fixture.clients.push({ destroy: () => taken.close() })
    const { code, stderr } = await runKeyturn(['serve', '--workers', '2'], {
      ...fixture.env,
      KEYTURN_DATA_DIR: folder,
      KEYTURN_LISTEN: `127.0.0.1:${port}`,
      KEYTURN_METRICS_LISTEN: 'off',
    })
    await removeFolder(folder)
    expect(code).toBe(1)
    expect(stderr.match(/^keyturn: cannot listen on .+$/gm)).toHaveLength(1)
  })

  onLinux('can be interrupted while the first one waits for the database, with exit code 0', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const asked = once(silent, 'connection') as Promise<[Socket]>
    const child = spawnKeyturn(['serve', '--workers', '2'], {
      ...fixture.env,
      KEYTURN_LISTEN: '127.0.0.1:0',
      KEYTURN_METRICS_LISTEN: 'off',
      KEYTURN_CREDENTIALS: '/nowhere/admin.json',
      KEYTURN_DATABASE_URL: `postgres://nobody@127.0.0.1:${(silent.address() as AddressInfo).port}/x`,
    })
    const [socket] = await asked
    fixture.clients.push(socket, { destroy: () => silent.close() })
    fixture.workers = childrenOf(child.pid!)
    expect(fixture.workers).toHaveLength(1)
    child.kill('SIGTERM')
    await once(child, 'exit')
    expect({ code: child.exitCode, signal: child.signalCode }).toEqual({ code: 0, signal: null })
    expect(fixture.workers.filter(isRunning)).toEqual([])
  })
})
