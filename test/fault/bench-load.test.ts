import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { LoadGenerator } from '../../bench/load/generator.ts'
import type { HttpJob } from '../../bench/load/job.ts'
import { getRequest } from '../../bench/load/requests.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'

const onLinux = itUnless(NOT_LINUX)

describe('the load generator', () => {
  let server: Server
  let load: LoadGenerator
  let answer: (count: number) => { readonly status: number; readonly body: string }
  let asked: number
  let connections: number
  let job: HttpJob

  beforeEach(async () => {
    asked = 0
    connections = 0
    answer = () => ({ status: 200, body: 'yes' })
    server = createServer((_request, response) => {
      asked += 1
      const { status, body } = answer(asked)
      response.writeHead(status, { 'content-length': body.length }).end(body)
    })
    server.on('connection', () => {
      connections += 1
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    load = new LoadGenerator()
    job = {
      kind: 'http',
      url,
      pids: [process.pid],
      warmUpSeconds: 0.1,
      seconds: 0.5,
      concurrency: 3,
      requests: [getRequest(`${url}/`)],
      expectedStatus: 200,
      samples: 2,
    }
  })
  afterEach(async () => {
    await load.stop()
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })

  onLinux('counts answers on few connections, and hands some of them back', async () => {
    const measured = await load.measure(job)
    expect(measured.answers).toBeGreaterThan(0)
    expect(measured.answers).toBeLessThanOrEqual(asked)
    expect(measured.errors).toBe(0)
    expect(measured.samples).toContain('yes')
    expect(connections).toBe(3)
    expect(measured.latency.p99).toBeGreaterThanOrEqual(measured.latency.p50)
  })

  onLinux('counts other answers as errors and says what the first one was', async () => {
    answer = (count) => (count % 2 === 0 ? { status: 503, body: 'not now' } : { status: 200, body: 'yes' })
    const measured = await load.measure(job)
    expect(measured.answers).toBeGreaterThan(0)
    expect(measured.errors).toBeGreaterThan(0)
    expect(measured.firstError).toBe('503 not now')
  })

  onLinux('counts broken connections as errors and goes on with others', async () => {
    server.on('request', (request) => {
      if (asked % 5 === 0) request.socket.destroy()
    })
    const measured = await load.measure(job)
    expect(measured.answers).toBeGreaterThan(0)
    expect(measured.errors).toBeGreaterThan(0)
    expect(connections).toBeGreaterThan(3)
  })

  onLinux('sends no more than the rate that it is told', async () => {
    const measured = await load.measure({ ...job, ratePerSecond: 20 })
    expect(measured.answers).toBeGreaterThan(0)
    // Within 0.6 s 12 are due; the last one may fall on the end.
    expect(asked).toBeLessThanOrEqual(20 * (measured.seconds + 5))
    expect(measured.errors).toBe(0)
  })

  onLinux('fails when it cannot see the process that it shall measure', async () => {
    await expect(load.measure({ ...job, pids: [2 ** 30] })).rejects.toThrow(/the load could not be made.*ENOENT/)
  })
})
