import { once } from 'node:events'
import { constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../src/http/listener.ts'
import { closed } from '../../support/closed.ts'
import { eventually } from '../../support/eventually.ts'
import { FLAG, type Frame, frame, RawHttp2, requestFields, TYPE } from '../../support/http2-frames.ts'
import { createRecordingLog } from '../../support/log.ts'

const FIXTURES = join(import.meta.dirname, '../../support/tls')
const TLS = { certFile: join(FIXTURES, 'first.cert.pem'), keyFile: join(FIXTURES, 'first.key.pem'), clientCaFile: null }
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
/** Longer than a test may take. */
const GRACE = 600_000
/** RFC 9113 §6.8. */
const HIGHEST_STREAM = 2 ** 31 - 1

let listener: Listener
const clients: { destroy(): void }[] = []
let releases: (() => void)[]

beforeEach(() => {
  releases = []
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await listener.close(0)
})

/** Answers at once, but at `/held` when the test calls it. */
async function start(tls: typeof TLS | null = null): Promise<void> {
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls,
    limits: DEFAULT_LIMITS,
    log: createRecordingLog(),
    handler: (req, res) => {
      if (req.url === '/held') releases.push(() => res.end('held'))
      else res.end('answer')
    },
  })
}

async function open(tls = false): Promise<Socket> {
  const { port } = listener
  const socket = tls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1')
  clients.push(socket)
  socket.on('error', () => {}).setEncoding('latin1')
  await once(socket, tls ? 'secureConnect' : 'connect')
  return socket
}

/** Sends a request and reads the answer, or what there is of it when the connection ends. */
async function ask(socket: Socket, request = GET): Promise<string> {
  let text = ''
  const gone = closed(socket)
  const read = (chunk: string) => {
    text += chunk
  }
  socket.on('data', read)
  socket.write(request)
  const isWhole = () => /\r\n\r\n(answer|held)$|\r\n0\r\n\r\n$/.test(text)
  while (!isWhole() && !socket.destroyed) await Promise.race([new Promise((come) => socket.once('data', come)), gone])
  socket.off('data', read)
  return text
}

const isGoaway = ({ type }: Frame) => type === TYPE.goaway
const lastStreamOf = ({ payload }: Frame) => payload.readUInt32BE(0)
const headOf = (stream: number) => frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, stream, requestFields('GET'))
const answerTo = (id: number) => (one: Frame) => one.type === TYPE.headers && one.stream === id

async function openHttp2(): Promise<RawHttp2> {
  const raw = await RawHttp2.connect(listener.port)
  clients.push(raw.socket)
  await raw.frame(({ type }) => type === TYPE.settings)
  return raw
}

describe('a listener that drains', () => {
  it('answers with `connection: close` on HTTP/1.1 connections, old and new [RFC 9112 §9.6]', async () => {
    await start()
    const idle = await open()
    expect(await ask(idle)).not.toMatch(/\r\nconnection: close\r\n/i)
    const busy = await open()
    const held = ask(busy, GET.replace('/', '/held'))
    await eventually(() => expect(releases).toHaveLength(1))

    listener.drain()
    releases[0]?.()
    const gone = Promise.all([closed(idle), closed(busy)])
    for (const answer of [await held, await ask(idle), await ask(await open())]) {
      expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i)
    }
    await gone
  })

  it('sends HTTP/2 clients GOAWAY, and refuses none of their requests [RFC 9113 §6.8]', async () => {
    await start()
    const raw = await openHttp2()
    raw.send(headOf(1))
    await raw.frame(answerTo(1))
    listener.drain()
    const goaway = await raw.frame(isGoaway)
    expect([lastStreamOf(goaway), goaway.payload.readUInt32BE(4)]).toEqual([HIGHEST_STREAM, constants.NGHTTP2_NO_ERROR])
    raw.send(headOf(3))
    await raw.frame(answerTo(3))
  })
})

describe('a listener that closes', () => {
  it.each([
    ['in cleartext', null],
    ['with TLS', TLS],
  ])('still answers on a connection that it has taken and that has asked for nothing yet, %s', async (_name, tls) => {
    await start(tls)
    const socket = await open(tls !== null)
    await eventually(() => expect(listener.connections()).toBe(1))
    const end = listener.close(GRACE)
    await new Promise((resolve) => setImmediate(resolve))
    expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i)
    await end
  })

  it('answers requests that an HTTP/2 client sent before it read GOAWAY, and names the last one [RFC 9113 §6.8]', async () => {
    await start()
    const raw = await openHttp2()
    raw.send(headOf(1))
    await raw.frame(answerTo(1))
    const end = listener.close(GRACE)
    expect(lastStreamOf(await raw.frame(isGoaway))).toBe(HIGHEST_STREAM)
    const ping = await raw.frame(({ type, flags }) => type === TYPE.ping && flags === 0)
    // Sent before the client read GOAWAY.
    raw.send(headOf(3), frame(TYPE.ping, FLAG.ack, 0, ping.payload))
    await raw.frame(answerTo(3))
    await end
    expect(new Set(raw.frames.filter(isGoaway).map(lastStreamOf))).toEqual(new Set([HIGHEST_STREAM, 3]))
  })
})
