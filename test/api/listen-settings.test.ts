import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { closed } from '../support/closed.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'

const FIXTURES = join(import.meta.dirname, '../support/tls')

const running: Keyturn[] = []

afterEach(() => removeServers(...running.splice(0)))

async function start(env: Record<string, string>): Promise<Keyturn> {
  const server = await startKeyturnInProcess({ env })
  running.push(server)
  return server
}

describe('TLS files', () => {
  it('make the port https, and the issuer too, and keep browsers to it [RFC 6797 §7.1]', async () => {
    const files = { cert: join(FIXTURES, 'first.cert.pem'), key: join(FIXTURES, 'first.key.pem') }
    const server = await start({ KEYTURN_TLS_CERT_FILE: files.cert, KEYTURN_TLS_KEY_FILE: files.key })
    expect(server.listenUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect(server.baseUrl).toMatch(/^https:\/\/localhost:\d+$/)

    const ca = await readFile(files.cert)
    const discovery = await new Promise<string>((resolve, reject) => {
      get(`${server.baseUrl}/.well-known/openid-configuration`, { ca }, (response) => {
        expect(response.headers['strict-transport-security']).toBe('max-age=31536000')
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve(text))
      }).on('error', reject)
    })
    expect(JSON.parse(discovery)).toMatchObject({
      issuer: server.baseUrl,
      token_endpoint: `${server.baseUrl}/oauth/v2/token`,
    })
  })
})

describe('the metrics address', () => {
  it('that is taken costs the metrics and not the service', async () => {
    const address = `127.0.0.1:${await freePort()}`
    await start({ KEYTURN_METRICS_LISTEN: address })
    const second = await start({ KEYTURN_METRICS_LISTEN: address })
    expect((await fetch(`${second.baseUrl}/readyz`)).status).toBe(200)
    expect(second.output().stderr).toContain('metrics are not served')
  })

  it('cuts off a connection that asks for nothing when the server stops', async () => {
    const port = await freePort()
    const server = await start({ KEYTURN_METRICS_LISTEN: `127.0.0.1:${port}` })
    const idle = connect(port, '127.0.0.1')
    // Reset if it has not been taken in when the port is closed.
    idle.on('error', () => {})
    const cutOff = closed(idle)
    await once(idle, 'connect')
    await server.stop()
    await cutOff
  })
})
