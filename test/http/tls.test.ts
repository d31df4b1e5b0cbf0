import { once } from 'node:events'
import { copyFile, writeFile } from 'node:fs/promises'
import { connect as connectHttp2 } from 'node:http2'
import { Agent, get } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS, type Limits } from '../../src/http/limits.ts'
import { type Listener, listen } from '../../src/http/listener.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { createRecordingLog } from '../support/log.ts'

const FIXTURES = join(import.meta.dirname, '../support/tls')

let folder: string
let listener: Listener | undefined

beforeEach(async () => {
  folder = await temporaryFolder()
  await install('first')
})

afterEach(async () => {
  await listener?.close(0)
  await removeFolder(folder)
})

async function install(name: string): Promise<void> {
  await copyFile(join(FIXTURES, `${name}.cert.pem`), join(folder, 'cert.pem'))
  await copyFile(join(FIXTURES, `${name}.key.pem`), join(folder, 'key.pem'))
}

async function start(limits: Partial<Limits> = {}): Promise<Listener> {
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls: { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem'), clientCaFile: null },
    limits: { ...DEFAULT_LIMITS, headTimeout: 300, checkEvery: 50, ...limits },
    log: createRecordingLog(),
    handler: (req, res) => void res.end(`HTTP/${req.httpVersion}`),
  })
  return listener
}

async function handshake({ port }: Listener, options: object = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

function nameOf(socket: TLSSocket): string {
  const { CN } = socket.getPeerCertificate().subject
  return typeof CN === 'string' ? CN : ''
}

async function getOver(url: string, agent: Agent): Promise<string> {
  const [response] = await once(get(url, { agent, rejectUnauthorized: false }), 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return text
}

describe('TLS', () => {
  it('serves HTTP/1.1 and HTTP/2 on one port', async () => {
    const { url } = await start()
    const agent = new Agent()
    expect(await getOver(url, agent)).toBe('HTTP/1.1')
    agent.destroy()

    const session = connectHttp2(url, { rejectUnauthorized: false })
    const stream = session.request({ ':path': '/' })
    let text = ''
    for await (const chunk of stream) text += chunk
    session.destroy()
    expect(text).toBe('HTTP/2.0')
  })

  it('offers h2 before http/1.1', async () => {
    const socket = await handshake(await start(), { ALPNProtocols: ['http/1.1', 'h2'] })
    expect(socket.alpnProtocol).toBe('h2')
    socket.destroy()
  })

  it('refuses versions before 1.2', async () => {
    await expect(handshake(await start(), { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' })).rejects.toThrow()
  })

  it('closes a connection that does not finish its head', async () => {
    const socket = await handshake(await start())
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('takes a new certificate from the files and keeps connections that are open', async () => {
    const running = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    expect(await getOver(running.url, agent)).toBe('HTTP/1.1')

    await install('second')
    let name = ''
    while (name !== 'localhost second') {
      const socket = await handshake(running)
      name = nameOf(socket)
      socket.destroy()
    }
    expect(await getOver(running.url, agent)).toBe('HTTP/1.1')
    agent.destroy()
  })

  it('closes while connections are idle', async () => {
    const running = await start()
    const agent = new Agent({ keepAlive: true })
    await getOver(running.url, agent)
    await running.close(60_000)
    agent.destroy()
    await expect(handshake(running)).rejects.toThrow()
  })

  it('closes while connections have asked for nothing, before and after the handshake', async () => {
    const running = await start({ headTimeout: 30_000 })
    const silent = connectTcp(running.port, '127.0.0.1')
    await once(silent, 'connect')
    const opened = await handshake(running)
    const gone = Promise.all([once(silent, 'close'), once(opened, 'close')])
    silent.resume()
    opened.resume()
    await running.close(60_000)
    await gone
  })

  it('does not start with files that do not belong together, and names them', async () => {
    await copyFile(join(FIXTURES, 'second.key.pem'), join(folder, 'key.pem'))
    await expect(start()).rejects.toThrow(/cannot use the certificate .*cert\.pem with the key .*key\.pem/)
    await writeFile(join(folder, 'cert.pem'), 'nothing')
    await expect(start()).rejects.toThrow(/cannot use the certificate/)
  })
})
