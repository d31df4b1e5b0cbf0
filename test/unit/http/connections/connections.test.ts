import { once } from 'node:events'
import { constants } from 'node:http2'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
import { closed } from '../../../support/closed.ts'
import { eventually } from '../../../support/eventually.ts'
import { bodyOf, Client, GET, Held, listener, MAX, opened, session, start, stop } from './limited-server.ts'

afterEach(stop)

it('at the limit a new connection is refused, until another one ends', async () => {
  await start()
  const others = [await Client.open(), await Client.open(), await Client.open()]
  await (await Client.open()).closed()
  others[0]!.socket.destroy()
  await eventually(() => expect(listener.connections()).toBe(MAX - 1))
  await (await Client.open()).ask(GET)
})

describe('more requests at the same time than are allowed', () => {
  it('are refused over HTTP/1.1, and their connection is closed, but not requests without a body, such as probes', async () => {
    const held = new Held()
    await start(held, { maxRequests: 1 })
    const POST = 'POST /held HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n'
    const answer = (await Client.open()).ask(`${POST}a`, 'held')
    await held.has(1)
    const refused = await (await Client.open()).ask(POST, '}')
    await refused.closed()
    expect(refused.received).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: 1\r\n/i)
    await (await Client.open()).ask(GET)
    held.releases[0]?.()
    await answer
    await (await Client.open()).ask(`${POST.replace('/held', '/')}a`)
  })

  it('are refused over HTTP/2 as such that may be sent again [RFC 9113 §8.7]', async () => {
    const held = new Held()
    await start(held, { maxRequests: 1 })
    const client = await session()
    const answer = bodyOf(client, '/held')
    await held.has(1)
    const refused = client.request({ ':path': '/' })
    refused.on('error', () => {})
    await closed(refused)
    expect(refused.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM)
    held.releases[0]?.()
    expect(await answer).toBe('held')
    expect(await bodyOf(client)).toBe('answer')
  })
})

describe('a client that does not read its response over HTTP/1.1', () => {
  it('loses its connection after a while', async () => {
    const body = Buffer.alloc(64 * 1024 * 1024)
    let cut: Promise<unknown> | undefined
    const handler: Handler = (_req, res) => {
      cut = once(res, 'close')
      res.end(body)
    }
    await start({ handler }, { requestTimeout: 100 })
    const socket = connect(listener.port, '127.0.0.1').pause()
    opened.push(socket)
    socket.on('error', () => {})
    socket.write(GET)
    while (cut === undefined) await new Promise((resolve) => setImmediate(resolve))
    await cut
  })
})
