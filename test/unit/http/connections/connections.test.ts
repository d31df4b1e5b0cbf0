import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type Http2ServerRequest,
} from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
import { closed } from '../../../support/closed.ts'
import { createRecordingLog } from '../../../support/log.ts'

const FIXTURES = join(import.meta.dirname, '../../../support/tls')
const TLS = { certFile: join(FIXTURES, 'first.cert.pem'), keyFile: join(FIXTURES, 'first.key.pem'), clientCaFile: null }
const MAX = 3
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const POST_UNREAD = 'POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n'

const opened: { destroy(): void }[] = []
let listener: Listener

afterEach(async () => {
  for (const one of opened.splice(0)) one.destroy()
  await listener.close(0)
})

/** Answers at once, but at `/held` and `/unread` when it is told to. */
class Held {
  readonly releases: (() => void)[] = []
  /** Those whose body has begun to come, and was put back. */
  readonly unread: IncomingMessage[] = []
  readonly handler: Handler = (req, res) => {
    req.on('error', () => {})
    if (req.url === '/') {
      req.resume().on('end', () => res.end('answer'))
      return
    }
    this.releases.push(() => res.end('held'))
    if (req.url !== '/unread') return
    req.once('data', (start) => {
      req.pause()
      req.unshift(start)
      this.unread.push(req)
    })
  }

  /** Waits until so many answers are held. */
  async has(count: number): Promise<void> {
    while (this.releases.length < count) await nextTurn()
  }

  /** A request that has begun to come and is not read. */
  async unreadOne(): Promise<IncomingMessage | Http2ServerRequest> {
    for (;;) {
      const req = this.unread.shift()
      if (req !== undefined) return req
      await nextTurn()
    }
  }
}

function nextTurn(): Promise<unknown> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Waits until the server has all of a request, as the protocol itself knows it. */
async function arrived(req: IncomingMessage | Http2ServerRequest): Promise<void> {
  while ('stream' in req ? req.stream.state.remoteClose !== 1 : !req.complete) await nextTurn()
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

function bodyOf(client: ClientHttp2Session, path = '/'): Promise<string> {
  return textOf(client.request({ ':path': path }))
}

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += chunk
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
    await held.has(2)
    const next = await Client.open()
    await slow.closed()
    await next.ask(GET)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })
})

describe('a connection whose request nobody reads', () => {
  /** Fills the server up to one connection, each of which waits for its answer. */
  async function fill(held: Held): Promise<Promise<Client>[]> {
    const answers = []
    for (let i = 1; i < MAX; i += 1) answers.push((await Client.open()).ask(GET.replace('/', '/held'), 'held'))
    await held.has(MAX - 1)
    return answers
  }

  it.each([
    ['in cleartext', null],
    ['with TLS', TLS],
  ])('does not give way when all of it is here, over HTTP/1.1 %s', async (_name, tls) => {
    const held = new Held()
    await start(held, tls)
    const open = tls === null ? Client.open : Client.openTls
    const clients = []
    for (let i = 0; i < MAX; i += 1) clients.push(await open())
    const answers = clients.map((client) => client.ask(`${POST_UNREAD}some body`, 'held'))
    for (let i = 0; i < MAX; i += 1) await arrived(await held.unreadOne())

    for (let i = 0; i < 2; i += 1) await (await Client.open()).closed()
    for (const release of held.releases) release()
    await Promise.all(answers)
    await (await open()).ask(GET)
  })

  it('gives way when half of it is here, over HTTP/1.1', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const half = await Client.open()
    half.socket.write(`${POST_UNREAD}some`)
    await held.unreadOne()
    const next = await Client.open()
    await half.closed()
    await next.ask(GET)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })

  it('does not give way when all of it is here and half of the next one, until it is answered', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const releaseOthers = held.releases.splice(0)
    const client = await Client.open()
    client.socket.write(`${POST_UNREAD}some body${POST_UNREAD}some`)
    await arrived(await held.unreadOne())
    await held.unreadOne()

    await (await Client.open()).closed()
    held.releases[0]?.()
    await client.ask('', 'held')
    const next = await Client.open()
    await client.closed()
    await next.ask(GET)
    for (const release of releaseOthers) release()
    await Promise.all(answers)
  })

  it.each([
    ['in cleartext', null],
    ['with TLS', TLS],
  ])('does not give way when all of it is here, over HTTP/2 %s', async (_name, tls) => {
    const held = new Held()
    await start(held, tls)
    const bodies = []
    for (let i = 0; i < MAX; i += 1) {
      const request = (await session()).request({ ':path': '/unread', ':method': 'POST' })
      request.end('some body')
      bodies.push(textOf(request))
      await arrived(await held.unreadOne())
    }

    for (let i = 0; i < 2; i += 1) await (await Client.open()).closed()
    for (const release of held.releases) release()
    expect(await Promise.all(bodies)).toEqual(['held', 'held', 'held'])
    expect(await bodyOf(await session())).toBe('answer')
  })

  it('gives way when half of it is here, over HTTP/2', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const half = await session()
    const cut = closed(half)
    half
      .request({ ':path': '/unread', ':method': 'POST' })
      .on('error', () => {})
      .write('some')
    await held.unreadOne()
    const next = await Client.open()
    await cut
    await next.ask(GET)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })

  it('does not give way when all of it is here and half of another one, until it is answered, over HTTP/2', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const releaseOthers = held.releases.splice(0)
    const both = await session()
    const cut = closed(both)
    both
      .request({ ':path': '/unread', ':method': 'POST' })
      .on('error', () => {})
      .write('some')
    await held.unreadOne()
    const whole = both.request({ ':path': '/unread', ':method': 'POST' })
    whole.end('some body')
    await arrived(await held.unreadOne())

    await (await Client.open()).closed()
    held.releases[1]?.()
    expect(await textOf(whole)).toBe('held')
    const next = await Client.open()
    await cut
    await next.ask(GET)
    for (const release of releaseOthers) release()
    await Promise.all(answers)
  })

  it('waits anew when another of its requests is answered', async () => {
    const held = new Held()
    await start(held)
    const busy = await session()
    busy
      .request({ ':path': '/unread', ':method': 'POST' })
      .on('error', () => {})
      .write('some')
    await held.unreadOne()
    const slow = await Client.open()
    slow.socket.write(`${POST_UNREAD}some`)
    await held.unreadOne()
    const answer = (await Client.open()).ask(GET.replace('/', '/held'), 'held')
    await held.has(MAX)
    expect(await bodyOf(busy)).toBe('answer')

    await (await Client.open()).ask(GET)
    await slow.closed()
    expect(await bodyOf(busy)).toBe('answer')
    held.releases[2]?.()
    await answer
  })

  it('makes room only once', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const half = await Client.open()
    half.socket.write(`${POST_UNREAD}some`)
    const req = await held.unreadOne()
    const cut = new Promise((resolve) => req.once('close', resolve))
    const next = await Client.open()
    await Promise.all([half.closed(), cut])
    answers.push(next.ask(GET.replace('/', '/held'), 'held'))
    await held.has(MAX + 1)

    await (await Client.open()).closed()
    expect(listener.connections()).toBe(MAX)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })

  it('is looked at once, however many want its place', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const answer = (await Client.open()).ask(`${POST_UNREAD}some body`, 'held')
    const req = await held.unreadOne()
    await arrived(req)
    let looks = 0
    Object.defineProperty(req, 'complete', {
      get: () => {
        looks += 1
        return true
      },
    })
    for (let i = 0; i < 3; i += 1) await (await Client.open()).closed()
    expect(looks).toBe(1)
    for (const release of held.releases) release()
    await Promise.all([...answers, answer])
  })
})

/** Another program may have been given the port meanwhile. */
async function resetAndComeAgain(attempts = 10): Promise<Client> {
  const { socket } = await Client.open()
  const { localPort } = socket
  socket.resetAndDestroy()
  const again = connect({ port: listener.port, host: '127.0.0.1', localPort: localPort! })
  try {
    await once(again, 'connect')
    return new Client(again)
  } catch (error) {
    if (attempts === 1 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return await resetAndComeAgain(attempts - 1)
  }
}

describe('a client that resets its connection and connects from the same port again', () => {
  it('has one connection, which gives way like any other', async () => {
    await start()
    const again = await resetAndComeAgain()
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
    await held.has(MAX)

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
    await held.has(MAX)

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
