import { once } from 'node:events'
import { type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import { reserve } from '../../../../src/http/requests/body-budget.ts'
import { closed } from '../../../support/closed.ts'
import { eventually } from '../../../support/eventually.ts'
import { createRecordingLog, type RecordingLog } from '../../../support/log.ts'

const FIXTURES = join(import.meta.dirname, '../../../support/tls')
const TLS = { certFile: join(FIXTURES, 'first.cert.pem'), keyFile: join(FIXTURES, 'first.key.pem'), clientCaFile: null }
const KIB = 1024
/** Room for three bodies of 40 KiB, and not for a fourth. */
const BUDGET = 150 * KIB
const HEAD = 'POST /read HTTP/1.1\r\nHost: x\r\n'

let listener: Listener
let log: RecordingLog
/** How many bytes of each body have arrived, by path. */
let come: Map<string, number>
let chunks: Buffer[]
/** Whether the reservation fitted, by path, and a function that answers the request. */
let reserved: Map<string, { readonly hasRoom: boolean; readonly answer: () => unknown }>
const clients: { destroy(): void }[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await listener.close(0)
})

/**
 * Answers with the length of the body. Bodies at `/unread/…` are not read, those at `/refused` refused. At `/reserve/…` 60 KiB are
 * reserved, and the test answers the request.
 */
async function start(tls: typeof TLS | null = null): Promise<void> {
  come = new Map()
  chunks = []
  reserved = new Map()
  log = createRecordingLog()
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls,
    limits: { ...DEFAULT_LIMITS, maxBodiesBytes: BUDGET },
    log,
    handler: (req, res) => {
      const name = req.url ?? ''
      come.set(name, 0)
      req.on('error', () => {})
      if (name.startsWith('/unread')) return
      if (name === '/refused') {
        res.on('finish', () => req.resume())
        res.writeHead(413).end('refused')
        return
      }
      if (name.startsWith('/reserve')) {
        const answer = () => once(res.end('read 0'), 'close')
        req.resume().on('end', () => reserved.set(name, { hasRoom: reserve(req, 60 * KIB), answer }))
        return
      }
      req.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        come.set(name, (come.get(name) ?? 0) + chunk.length)
      })
      req.on('end', () => res.end(`read ${come.get(name)}`))
    },
  })
}

/** A connection of HTTP/1.1, and what has been received on it. */
class Client {
  readonly socket: Socket
  readonly gone: Promise<unknown>
  received = ''

  constructor(socket: Socket) {
    this.socket = socket
    this.gone = closed(socket)
    clients.push(socket)
    socket.on('error', () => {})
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      this.received += chunk
    })
  }

  static async open(tls = false): Promise<Client> {
    const { port } = listener
    const socket = tls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1')
    const client = new Client(socket)
    await once(socket, tls ? 'secureConnect' : 'connect')
    return client
  }

  /** Sends an incomplete body, and waits until so many bytes have arrived. */
  async begin(name: string, bytes: number): Promise<this> {
    this.socket.write(`POST ${name} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes + 1}\r\n\r\n${'a'.repeat(bytes)}`)
    await eventually(() => expect(come.get(name)).toBe(bytes))
    return this
  }

  async ask(request: string): Promise<string> {
    this.received = ''
    this.socket.write(request)
    const isWhole = () => /(read \d+|refused)(\r\n0\r\n\r\n)?$/.test(this.received)
    while (!isWhole() && !this.socket.destroyed)
      await Promise.race([new Promise((come) => this.socket.once('data', come)), this.gone])
    return this.received
  }
}

const GET = 'GET /read HTTP/1.1\r\nHost: x\r\n\r\n'

describe('when incomplete bodies exceed the budget', () => {
  it.each([
    ['in cleartext', null],
    ['with TLS', TLS],
  ])('the largest request is refused with 503, and no other, over HTTP/1.1 %s', async (_name, tls) => {
    await start(tls)
    const open = () => Client.open(tls !== null)
    const large = await (await open()).begin('/large', 60 * KIB)
    const small = await (await open()).begin('/small', 20 * KIB)
    const middle = await (await open()).begin('/middle', 40 * KIB)
    const last = await (await open()).begin('/last', 40 * KIB)
    await large.gone
    expect(large.received).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nconnection: close\r\nretry-after: 1\r\n/)
    expect(large.received).toMatch(/"error":"temporarily_unavailable"/)
    for (const client of [small, middle, last]) expect(await client.ask('a')).toMatch(/^HTTP\/1\.1 200 /)
    expect(log.lines.filter((line) => line.includes('were cut off'))).toHaveLength(1)
  })

  it('the oldest of equally large requests is shed', async () => {
    await start()
    const names = ['/1', '/2', '/3', '/4']
    const bodies = []
    for (const name of names) bodies.push(await (await Client.open()).begin(name, 40 * KIB))
    expect(await Promise.race(bodies.map((body, index) => body.gone.then(() => names[index])))).toBe('/1')
    for (const body of bodies.slice(1)) expect(await body.ask('a')).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('requests without a body or with a small one are answered', async () => {
    await start()
    const probe = await Client.open()
    for (let i = 0; i < 12; i += 1) {
      await (await Client.open()).begin(`/${i}`, 40 * KIB)
      expect(await probe.ask(GET)).toMatch(/^HTTP\/1\.1 200 /)
      expect(await probe.ask(`${HEAD}Content-Length: 5\r\n\r\nsmall`)).toMatch(/read 5/)
    }
  })

  it.each([
    ['whose bodies were read', 'POST', 40 * KIB, 8],
    ['without bodies', 'GET', 0, 40],
  ])('unread responses to requests %s are shed, over HTTP/2', async (_name, method, bytes, count) => {
    await start()
    const greedy = connectHttp2(listener.url, { settings: { initialWindowSize: 0 } })
    clients.push(greedy)
    const codes: (number | undefined)[] = []
    for (let i = 0; i < count; i += 1) {
      const stream = greedy.request({ ':method': method, ':path': `/${i}` }, { endStream: bytes === 0 })
      stream.on('error', () => {}).on('close', () => codes.push(stream.rstCode))
      const answered = Promise.race([once(stream, 'response'), closed(stream)])
      if (bytes > 0) stream.end(Buffer.alloc(bytes))
      await answered
      expect(
        await (await Client.open()).ask(`${HEAD}Content-Length: ${8 * KIB}\r\n\r\n${'a'.repeat(8 * KIB)}`),
      ).toMatch(/read 8192/)
    }
    expect(new Set(codes)).toEqual(new Set([constants.NGHTTP2_CANCEL]))
    // The others fit into the budget.
    expect(count - codes.length).toBeLessThanOrEqual(BUDGET / (24 * KIB))
  })

  it('a stream is reset so that its client may retry, and the others of its connection continue, over HTTP/2', async () => {
    await start()
    const session = connectHttp2(listener.url)
    clients.push(session)
    const begin = async (name: string, bytes: number): Promise<ClientHttp2Stream> => {
      const stream = session.request({ ':method': 'POST', ':path': name })
      stream.on('error', () => {})
      stream.write(Buffer.alloc(bytes))
      if (!name.startsWith('/unread')) await eventually(() => expect(come.get(name)).toBe(bytes))
      return stream
    }
    const unread = await begin('/unread', 60 * KIB)
    const gone = closed(unread)
    const small = await begin('/small', 10 * KIB)
    const others = [small, await begin('/middle', 20 * KIB), await begin('/last', 10 * KIB)]
    await gone
    expect(unread.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM)
    for (const stream of others) {
      stream.end('a')
      const [head] = await once(stream, 'response')
      expect(head[':status']).toBe(200)
      stream.resume()
    }
  })
})

describe('memory that a request needs besides its body', () => {
  const reserveOver1 = async (name: string): Promise<Client> => {
    const client = await Client.open()
    client.socket.write(`GET ${name} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await eventually(() => expect(reserved.has(name)).toBe(true))
    return client
  }
  const reserveOver2 = async (name: string): Promise<unknown> => {
    const session = connectHttp2(listener.url)
    clients.push(session)
    session
      .request({ ':path': name })
      .on('error', () => {})
      .resume()
    await eventually(() => expect(reserved.has(name)).toBe(true))
    return session
  }
  const hasRoom = () => [...reserved.values()].map((one) => one.hasRoom)

  it.each([
    ['HTTP/1.1', reserveOver1],
    ['HTTP/2', reserveOver2],
  ])('counts until it is answered, over %s', async (_name, reserveOne) => {
    await start()
    for (const name of ['/reserve/1', '/reserve/2', '/reserve/3', '/reserve/4']) await reserveOne(name)
    expect(hasRoom()).toEqual([true, true, false, false])
    await reserved.get('/reserve/1')?.answer()
    const probe = await Client.open()
    await eventually(async () => {
      reserved.delete('/reserve/again')
      probe.socket.write('GET /reserve/again HTTP/1.1\r\nHost: x\r\n\r\n')
      await eventually(() => expect(reserved.has('/reserve/again')).toBe(true))
      const { hasRoom, answer } = reserved.get('/reserve/again')!
      answer()
      expect(hasRoom).toBe(true)
    })
    expect(log.lines).toEqual([])
  })

  it('sheds incomplete requests', async () => {
    await start()
    const slow = await (await Client.open()).begin('/slow', 60 * KIB)
    await reserveOver1('/reserve/1')
    await reserveOver1('/reserve/2')
    await slow.gone
    expect(slow.received).toMatch(/^HTTP\/1\.1 503 /)
    expect(hasRoom()).toEqual([true, true])
  })
})

it('streams without a body chunk count as well, until their client ends them', async () => {
  await start()
  const session = connectHttp2(listener.url)
  clients.push(session)
  let refused = 0
  const open = () => {
    const stream = session.request({ ':method': 'POST', ':path': '/read' })
    stream
      .on('error', () => {})
      .on('close', () => {
        if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) refused += 1
      })
    return stream
  }
  for (let i = 0; i < 50; i += 1) {
    const stream = open()
    stream.end('a')
    await once(stream, 'response')
    stream.resume()
  }
  expect(refused).toBe(0)
  for (let i = 0; i < 20; i += 1) open()
  await eventually(() => expect(refused).toBeGreaterThan(8))
})

describe('a body counts', () => {
  it('with the overhead of its chunks', async () => {
    await start()
    const client = await Client.open()
    client.socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(KIB)}`)
    await client.gone
    expect(client.received).toMatch(/^HTTP\/1\.1 503 /)
  })

  it('until it has been answered, and no longer', async () => {
    await start()
    const client = await Client.open()
    for (let i = 0; i < 20; i += 1) {
      expect(await client.ask(`${HEAD}Content-Length: ${40 * KIB}\r\n\r\n${'a'.repeat(40 * KIB)}`)).toMatch(/200 OK/)
    }
    expect(log.lines).toEqual([])
  })

  it('no longer when its client has left', async () => {
    await start()
    for (let i = 0; i < 20; i += 1) {
      const client = await (await Client.open()).begin(`/${i}`, 40 * KIB)
      client.socket.destroy()
      await eventually(() => expect(listener.connections()).toBe(0))
    }
    expect(log.lines).toEqual([])
  })

  it('without the dropped rest after a refusal', async () => {
    await start()
    const client = await Client.open()
    const request = `POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * BUDGET}\r\n\r\n`
    for (let i = 0; i < 5; i += 1) {
      expect(await client.ask(request)).toMatch(/^HTTP\/1\.1 413 /)
      client.socket.write('a'.repeat(2 * BUDGET))
      expect(await client.ask(GET)).toMatch(/^HTTP\/1\.1 200 /)
    }
    const { gone } = await (await Client.open()).begin('/held', 60 * KIB)
    expect(await Promise.race([gone.then(() => 'shed'), client.ask(GET)])).toMatch(/200 OK/)
    expect(log.lines).toEqual([])
  })
})

it('a byte of an HTTP/2 stream does not retain the memory of the whole read', async () => {
  await start()
  const session = connectHttp2(listener.url)
  clients.push(session)
  const streams = ['/1', '/2', '/3'].map((name) => session.request({ ':method': 'POST', ':path': name }))
  for (const [i, stream] of streams.entries()) stream.write(i === 0 ? 'a' : Buffer.alloc(20 * KIB))
  await eventually(() => expect([...come.values()]).toEqual([1, 20 * KIB, 20 * KIB]))
  expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual(chunks.map(({ length }) => length))
})
