import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS, type Limits } from '../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../src/http/listener.ts'
import type { Handler } from '../../../src/http/requests/exchange.ts'
import { closed } from '../../support/closed.ts'
import { eventually } from '../../support/eventually.ts'
import { createRecordingLog } from '../../support/log.ts'

const SHORT: Partial<Limits> = { headTimeout: 300, requestTimeout: 600, checkInterval: 50 }
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

const open: (Listener | Socket | ClientHttp2Session)[] = []

afterEach(async () => {
  for (const one of open.splice(0).reverse()) {
    if ('destroy' in one) one.destroy()
    else await one.close(0)
  }
})

/** Answers with the protocol's version when the request is complete. */
const echo: Handler = (req, res) => {
  req.on('error', () => {})
  req.resume().on('end', () => res.end(`HTTP/${req.httpVersion}`))
}

async function start(limits: Partial<Limits> = {}, handler: Handler = echo): Promise<Listener> {
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    limits: { ...DEFAULT_LIMITS, ...limits },
    log: createRecordingLog(),
    handler,
  })
  open.push(listener)
  return listener
}

async function socketTo({ port }: Listener): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  open.push(socket)
  await once(socket, 'connect')
  return socket
}

/** Everything that the server sends until it closes the connection. */
async function received(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  await closed(socket)
  return text
}

function sessionTo({ url }: Listener): ClientHttp2Session {
  const session = connectHttp2(url)
  session.on('error', () => {})
  open.push(session)
  return session
}

async function requestOver(session: ClientHttp2Session, body = ''): Promise<string> {
  const stream = session.request({ ':method': 'POST', ':path': '/' })
  stream.on('error', () => {})
  stream.end(body)
  let text = ''
  for await (const chunk of stream) text += chunk
  return text
}

describe('one port', () => {
  it('speaks HTTP/1.1 and HTTP/2', async () => {
    const listener = await start()
    expect(await (await fetch(listener.url, { method: 'POST', body: 'x' })).text()).toBe('HTTP/1.1')
    expect(await requestOver(sessionTo(listener), 'x')).toBe('HTTP/2.0')
  })

  it('recognises HTTP/2 when its preface arrives in pieces', async () => {
    const socket = await socketTo(await start())
    socket.setNoDelay(true)
    for (const byte of PREFACE) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    socket.write(Buffer.from('000000040000000000', 'hex'))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    // The first frame of a server is SETTINGS (RFC 9113 §3.4).
    expect(answer[3]).toBe(4)
  })
})

describe('a connection', () => {
  it('without a request is closed', async () => {
    expect(await received(await socketTo(await start(SHORT)))).toBe('')
  })

  it('with an incomplete request head is closed with 408', async () => {
    const socket = await socketTo(await start(SHORT))
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    expect(await received(socket)).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('with a head that is too long gets 431', async () => {
    const socket = await socketTo(await start())
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(await received(socket)).toMatch(/^HTTP\/1\.1 431 /)
  })
})

describe('an HTTP/2 stream', () => {
  it('with an incomplete body is cancelled, and the connection continues', async () => {
    const listener = await start(SHORT)
    const session = sessionTo(listener)
    const stream = session.request({ ':method': 'POST', ':path': '/' })
    stream.on('error', () => {})
    stream.write('slow')
    await once(stream, 'close')
    expect(stream.rstCode).not.toBe(0)
    expect(await requestOver(session)).toBe('HTTP/2.0')
  })
})

it('at the limit a new connection is refused, until another one ends', async () => {
  const listener = await start({ maxConnections: 1 })
  const first = await socketTo(listener)
  expect(await received(await socketTo(listener))).toBe('')
  first.destroy()
  await eventually(() => expect(listener.connections()).toBe(0))
  expect(await (await fetch(listener.url, { method: 'POST' })).text()).toBe('HTTP/1.1')
})

describe('more requests at the same time than are allowed', () => {
  /** Answers at once, but at `/held` when the test says so. */
  async function startHeld() {
    const releases: (() => void)[] = []
    const listener = await start({ maxRequests: 1 }, (req, res) => {
      if (req.url === '/held') releases.push(() => res.end('held'))
      else echo(req, res)
    })
    const isHeld = () => eventually(() => expect(releases).toHaveLength(1))
    return { listener, isHeld, release: () => releases[0]?.() }
  }

  it('are refused over HTTP/1.1, and their connection is closed, but not requests without a body, such as probes', async () => {
    const { listener, isHeld, release } = await startHeld()
    const post = (path: string) => fetch(listener.url + path, { method: 'POST', body: 'a' })
    const answer = post('/held')
    await isHeld()
    const { status, headers } = await post('/')
    expect([status, headers.get('retry-after'), headers.get('connection')]).toEqual([503, '1', 'close'])
    expect((await fetch(listener.url)).status).toBe(200)
    release()
    expect(await (await answer).text()).toBe('held')
    expect((await post('/')).status).toBe(200)
  })

  it('are refused over HTTP/2 as such that may be sent again [RFC 9113 §8.7]', async () => {
    const { listener, isHeld, release } = await startHeld()
    const session = sessionTo(listener)
    const answer = text(session.request({ ':path': '/held' }))
    await isHeld()
    const refused = session.request({ ':path': '/' })
    refused.on('error', () => {})
    await closed(refused)
    expect(refused.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM)
    release()
    expect(await answer).toBe('held')
    expect(await requestOver(session)).toBe('HTTP/2.0')
  })
})

it('a client that does not read its response over HTTP/1.1 loses its connection after a while', async () => {
  const cut = Promise.withResolvers<void>()
  const listener = await start({ requestTimeout: 100 }, (_req, res) => {
    res.once('close', () => cut.resolve())
    res.end(Buffer.alloc(64 * 1024 * 1024))
  })
  const socket = (await socketTo(listener)).pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await cut.promise
})

describe('a request that its handler does not answer', () => {
  const IMPATIENT = { requestTimeout: 100 }

  it('is not one whose response has begun', async () => {
    let finish = () => {}
    const session = sessionTo(
      await start(IMPATIENT, (req, res) => {
        if (req.url === '/never') return
        res.write('first ')
        finish = () => res.end('last')
      }),
    )
    const begun = session.request({ ':path': '/begun' })
    // The earlier request has waited for longer than these.
    for (const _ of ['once', 'twice']) await once(session.request({ ':path': '/never' }), 'response')
    finish()
    expect(await text(begun)).toBe('first last')
  })
})

describe('a session of HTTP/2', () => {
  it('is closed for being idle, also if it had a request in flight before', async () => {
    const session = sessionTo(
      await start({ idleTimeout: 200 }, (_req, res) => {
        setTimeout(() => res.end('late'), 500)
      }),
    )
    const gone = closed(session)
    expect(await requestOver(session)).toBe('late')
    await gone
  })
})

describe('closing', () => {
  it('does not wait for connections that are idle or had no request', async () => {
    const listener = await start({ headTimeout: 600_000 })
    const agent = new Agent({ keepAlive: true })
    const [response] = await once(get(listener.url, { agent }), 'response')
    response.resume()
    await once(response, 'end')
    await requestOver(sessionTo(listener))
    const silent = await socketTo(listener)
    const gone = closed(silent)
    await listener.close(600_000)
    await gone
    agent.destroy()
  })
})

it('a port that is in use is an error that says what to do', async () => {
  const { port } = await start()
  const again = listen({
    host: '127.0.0.1',
    port,
    tls: null,
    limits: DEFAULT_LIMITS,
    log: createRecordingLog(),
    handler: echo,
  })
  await expect(again).rejects.toThrow(/cannot listen on 127\.0\.0\.1 port \d+: .*EADDRINUSE.*--listen/)
})
