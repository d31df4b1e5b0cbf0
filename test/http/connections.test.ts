import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Handler } from '../../src/http/exchange.ts'
import { DEFAULT_LIMITS } from '../../src/http/limits.ts'
import { type Listener, listen } from '../../src/http/listener.ts'
import { createRecordingLog } from '../support/log.ts'

const FIXTURES = join(import.meta.dirname, '../support/tls')
const TLS = { certFile: join(FIXTURES, 'first.cert.pem'), keyFile: join(FIXTURES, 'first.key.pem'), clientCaFile: null }
const MAX = 3
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

const opened: { destroy(): void }[] = []
let listener: Listener

afterEach(async () => {
  for (const one of opened.splice(0)) one.destroy()
  await listener.close(0)
})

/** Answers at once, but at `/held` when it is told to. */
class Held {
  readonly releases: (() => void)[] = []
  readonly handler: Handler = (req, res) => {
    req.on('error', () => {})
    if (req.url === '/held') this.releases.push(() => res.end('held'))
    else req.resume().on('end', () => res.end('answer'))
  }
}

async function start({ handler }: { handler: Handler } = new Held(), tls: typeof TLS | null = null): Promise<void> {
  const limits = { ...DEFAULT_LIMITS, maxConnections: MAX }
  listener = await listen({ host: '127.0.0.1', port: 0, tls, limits, log: createRecordingLog(), handler })
}

/** A connection in cleartext or with TLS, and whether it has been closed. */
class Client {
  readonly socket: Socket
  received = ''

  constructor(socket: Socket) {
    this.socket = socket
    opened.push(socket)
    socket.on('error', () => {})
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      this.received += chunk
    })
  }

  static async open(): Promise<Client> {
    const client = new Client(connect(listener.port, '127.0.0.1'))
    await once(client.socket, 'connect')
    return client
  }

  static async openTls(): Promise<Client> {
    const client = new Client(connectTls({ port: listener.port, host: '127.0.0.1', rejectUnauthorized: false }))
    await once(client.socket, 'secureConnect')
    return client
  }

  /** Sends this and waits until something ends the answer like that. */
  async ask(request: string, answer = 'answer'): Promise<this> {
    this.received = ''
    this.socket.write(request)
    while (!this.received.endsWith(answer)) await once(this.socket, 'data')
    return this
  }

  async closed(): Promise<void> {
    if (!this.socket.destroyed) await new Promise((resolve) => this.socket.once('close', resolve))
  }
}

async function session(): Promise<ClientHttp2Session> {
  const client = connectHttp2(listener.url, { rejectUnauthorized: false })
  client.on('error', () => {})
  opened.push(client)
  await once(client, 'remoteSettings')
  return client
}

async function bodyOf(client: ClientHttp2Session, path = '/'): Promise<string> {
  let text = ''
  for await (const chunk of client.request({ ':path': path })) text += chunk
  return text
}

describe('when there are as many connections as there may be, a new one takes the place of', () => {
  it('the oldest of those that have never asked for anything', async () => {
    await start()
    const busy = await (await Client.open()).ask(GET)
    const first = await Client.open()
    const second = await Client.open()
    const third = await (await Client.open()).ask(GET)
    await first.closed()
    for (const { socket } of [busy, second, third]) expect(socket.destroyed).toBe(false)
  })

  it('one that has sent half a head', async () => {
    await start()
    const half = await Client.open()
    half.socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const served = [await (await Client.open()).ask(GET), await (await Client.open()).ask(GET)]
    await (await Client.open()).ask(GET)
    await half.closed()
    for (const { socket } of served) expect(socket.destroyed).toBe(false)
  })

  it('the one that has been idle longest, if all have asked', async () => {
    await start()
    const clients = [await Client.open(), await Client.open(), await Client.open()] as const
    for (const client of clients) await client.ask(GET)
    await clients[0].ask(GET)
    await (await Client.open()).ask(GET)
    await clients[1].closed()
    expect([clients[0].socket.destroyed, clients[2].socket.destroyed]).toEqual([false, false])
  })

  it('an idle HTTP/2 session, which is told so', async () => {
    await start()
    const held = [await (await Client.open()).ask(GET), await (await Client.open()).ask(GET)]
    const idle = await session()
    const goaway = once(idle, 'goaway')
    expect(await bodyOf(idle)).toBe('answer')
    for (const client of held) await client.ask(GET)
    await (await Client.open()).ask(GET)
    const [code, lastStream] = await goaway
    expect([code, lastStream]).toEqual([constants.NGHTTP2_NO_ERROR, 1])
  })

  it('one whose request does not come to its end, if all others are being answered', async () => {
    const held = new Held()
    await start(held)
    const answers = [await Client.open(), await Client.open()].map((client) =>
      client.ask(GET.replace('/', '/held'), 'held'),
    )
    const slow = await Client.open()
    slow.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nslow')
    while (held.releases.length < 2) await new Promise((resolve) => setImmediate(resolve))
    const next = await Client.open()
    await slow.closed()
    await next.ask(GET)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })
})

describe('a client that resets its connection and connects from the same port again', () => {
  it('has one connection, which gives way like any other', async () => {
    await start()
    const before = await Client.open()
    const { localPort } = before.socket
    before.socket.resetAndDestroy()
    const again = new Client(connect({ port: listener.port, host: '127.0.0.1', localPort: localPort! }))
    await once(again.socket, 'connect')
    const others = [await Client.open(), await Client.open(), await Client.open()]
    await again.closed()
    for (const { socket } of others) expect(socket.destroyed).toBe(false)
    const last = await (await Client.open()).ask(GET)
    await others[0]!.closed()
    expect([listener.connections(), last.socket.destroyed]).toEqual([MAX, false])
  })
})

describe('a connection that is being answered', () => {
  it('is never closed for a new one, over HTTP/1.1 and HTTP/2', async () => {
    const held = new Held()
    await start(held)
    const answers = [await Client.open(), await Client.open()].map((client) =>
      client.ask(GET.replace('/', '/held'), 'held'),
    )
    const streams = await session()
    const body = bodyOf(streams, '/held')
    while (held.releases.length < MAX) await new Promise((resolve) => setImmediate(resolve))

    await (await Client.open()).closed()
    for (const release of held.releases) release()
    await Promise.all(answers)
    expect(await body).toBe('held')
    await (await Client.open()).ask(GET)
  })
})

describe('with TLS', () => {
  it('strangers who only connect, or only shake hands, do not keep others out', async () => {
    await start(new Held(), TLS)
    const strangers = [await Client.open(), await Client.openTls(), await Client.open()]
    const agent = new Agent({ keepAlive: true })
    opened.push(agent)
    for (let i = 0; i < MAX; i += 1) await (await Client.openTls()).ask(GET)
    await Promise.all(strangers.map((stranger) => stranger.closed()))
    expect(await bodyOf(await session())).toBe('answer')
  })

  it('a connection that is being answered is not closed for a new one', async () => {
    const held = new Held()
    await start(held, TLS)
    const clients = [await Client.openTls(), await Client.openTls()]
    const answers = clients.map((client) => client.ask(GET.replace('/', '/held'), 'held'))
    const streams = await session()
    const body = bodyOf(streams, '/held')
    while (held.releases.length < MAX) await new Promise((resolve) => setImmediate(resolve))

    await (await Client.open()).closed()
    for (const release of held.releases) release()
    await Promise.all(answers)
    expect(await body).toBe('held')
    await (await Client.openTls()).ask(GET)
  })
})

it('connections that have ended are not counted', async () => {
  await start()
  for (let i = 0; i < MAX * 3; i += 1) {
    const [response] = await once(get(listener.url, { agent: false }), 'response')
    for await (const _ of response);
    await bodyOf(await session())
  }
  const kept = await (await Client.open()).ask(GET)
  const other = await (await Client.open()).ask(GET)
  for (const { socket } of [kept, other]) expect(socket.destroyed).toBe(false)
})

describe('a client that does not take its answer over HTTP/1.1', () => {
  it('loses its connection after a while', async () => {
    const body = Buffer.alloc(64 * 1024 * 1024)
    let cut: Promise<unknown> | undefined
    const limits = { ...DEFAULT_LIMITS, answerTimeout: 100 }
    const handler: Handler = (_req, res) => {
      cut = once(res, 'close')
      res.end(body)
    }
    listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits, log: createRecordingLog(), handler })
    const socket = connect(listener.port, '127.0.0.1').pause()
    opened.push(socket)
    socket.on('error', () => {})
    socket.write(GET)
    while (cut === undefined) await new Promise((resolve) => setImmediate(resolve))
    await cut
  })
})
