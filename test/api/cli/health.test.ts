import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { freePort } from '../../support/free-port.ts'
import { type Keyturn, removeServers, runKeyturnInProcess, startKeyturnInProcess } from '../../support/keyturn.ts'

const running: Keyturn[] = []
afterEach(() => removeServers(...running.splice(0)))

/** The settings of a server that runs. */
async function start(env: Record<string, string> = {}): Promise<Record<string, string>> {
  const settings = { KEYTURN_LISTEN: `127.0.0.1:${await freePort()}`, ...env }
  running.push(await startKeyturnInProcess({ env: settings }))
  return settings
}

/** The command, for a server that may be slow. */
const health = (options: readonly string[], env?: Readonly<Record<string, string>>) =>
  runKeyturnInProcess(['health', '--timeout', '60', ...options], env)

const READY = { code: 0, stdout: 'ready\n', stderr: '' }

describe('keyturn health', () => {
  it('asks the server of the same settings, also where that listens on all addresses', async () => {
    const settings = await start()
    expect(await health([], settings)).toEqual(READY)
    const anywhere = settings.KEYTURN_LISTEN!.replace('127.0.0.1', '0.0.0.0')
    expect(await health(['--listen', anywhere])).toEqual(READY)
  })

  it('fails, and says why, where no server listens', async () => {
    const address = `127.0.0.1:${await freePort()}`
    expect(await health(['--listen', address])).toEqual({
      code: 1,
      stdout: '',
      stderr: `keyturn: no answer from http://${address}/readyz (ECONNREFUSED): is the server running with these settings?\n`,
    })
  })

  it('fails, with the reason, while a server is not ready', async () => {
    const server = createServer((_, res) => void res.writeHead(503).end('{"status":"not ready","reason":"it drains"}'))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await health(['--listen', address])).toEqual({
      code: 1,
      stdout: '',
      stderr: `keyturn: http://${address}/readyz answers with status 503: it drains\n`,
    })
    await new Promise((done) => server.close(done))
  })
})
