import { connect as connectHttp2, constants } from 'node:http2'
import { afterEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS, type Limits } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
import { FLAG, fields, frame, number, RawHttp2, requestFields, setting, TYPE } from '../../../support/http2-frames.ts'
import { createRecordingLog } from '../../../support/log.ts'

const INITIAL_WINDOW_SIZE = 4
/** More than any limit is. */
const MANY = 20_000

let listener: Listener

afterEach(() => listener.close(0))

async function start(limits: Partial<Limits>, handler: Handler): Promise<Listener> {
  const all = { ...DEFAULT_LIMITS, ...limits }
  const log = createRecordingLog()
  listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits: all, log, handler })
  return listener
}

const answer: Handler = (req, res) => {
  req.on('error', () => {})
  req.resume().on('end', () => res.end('answer'))
}

const get = (stream: number) => frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, stream, requestFields('GET'))
const post = (stream: number) => frame(TYPE.headers, FLAG.endHeaders, stream, requestFields('POST'))

describe('a client that floods an HTTP/2 connection', () => {
  it.each<[string, (i: number) => Buffer]>([
    ['pings', () => frame(TYPE.ping, 0, 0, Buffer.alloc(8))],
    ['settings', () => frame(TYPE.settings, 0, 0, setting(INITIAL_WINDOW_SIZE, 65_535))],
    [
      'requests that it takes back',
      (i) => Buffer.concat([get(2 * i + 1), frame(TYPE.reset, 0, 2 * i + 1, number(constants.NGHTTP2_CANCEL))]),
    ],
    [
      'requests that the server has to take back',
      (i) => Buffer.concat([post(2 * i + 1), frame(TYPE.windowUpdate, 0, 2 * i + 1, number(0))]),
    ],
    [
      'a head that does not end',
      (i) => (i === 0 ? headWithoutEnd() : frame(TYPE.continuation, 0, 1, fields([['a', 'b']]))),
    ],
    ['a body of nothing', (i) => (i === 0 ? post(1) : frame(TYPE.data, 0, 1))],
    ['priorities of streams that depend on themselves', (i) => selfDependent(2 * i + 1)],
  ])('with %s loses it, and nobody else does', async (_name, next) => {
    const { port, url } = await start({}, answer)
    const other = connectHttp2(url)
    const flood = await RawHttp2.connect(port)
    await flood.frame(({ type }) => type === TYPE.settings)
    flood.send(frame(TYPE.settings, FLAG.ack, 0))
    await flood.sendUntilClosed(MANY, next)
    await flood.closed
    const stream = other.request({ ':path': '/' })
    let text = ''
    for await (const chunk of stream) text += chunk
    other.destroy()
    expect(text).toBe('answer')
  })
})

function headWithoutEnd(): Buffer {
  return frame(TYPE.headers, 0, 1, requestFields('GET'))
}

function longHead(): Buffer {
  // Fits into a frame, and not into the limit, which counts 32 bytes more for each field.
  return Buffer.concat([requestFields('GET'), fields([['x-long', 'x'.repeat(16_250)]])])
}

function selfDependent(stream: number): Buffer {
  const priority = Buffer.concat([number(stream), Buffer.from([0])])
  return frame(
    TYPE.headers,
    0x20 | FLAG.endHeaders | FLAG.endStream,
    stream,
    Buffer.concat([priority, requestFields('GET')]),
  )
}

describe('a head that is too long is refused', () => {
  const head = frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, 1, longHead())

  it('when the client has acknowledged the limit', async () => {
    const { port } = await start({}, answer)
    const raw = await RawHttp2.connect(port)
    await raw.frame(({ type }) => type === TYPE.settings)
    raw.send(frame(TYPE.settings, FLAG.ack, 0), head)
    const reset = await raw.frame(({ type, stream }) => type === TYPE.reset && stream === 1)
    raw.socket.destroy()
    expect(reset.payload.readUInt32BE()).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })

  it('before that too', async () => {
    const { port } = await start({}, answer)
    const raw = await RawHttp2.connect(port)
    raw.send(head)
    const { payload } = await raw.frame(({ type, stream }) => type === TYPE.data && stream === 1)
    raw.socket.destroy()
    expect(JSON.parse(String(payload))).toEqual({
      error: 'invalid_request',
      error_description: 'the head of the request is longer than 16384 bytes',
    })
  })
})

describe('a client that asks and does not take the answer', () => {
  it('because its window is closed, loses the answer after a while, although it goes on talking', async () => {
    const { port } = await start({ answerTimeout: 50 }, answer)
    const raw = await RawHttp2.connect(port, setting(INITIAL_WINDOW_SIZE, 0))
    raw.send(get(1))
    const talking = setInterval(() => raw.send(frame(TYPE.ping, 0, 0, Buffer.alloc(8))), 20)
    const reset = await raw.frame(({ type, stream }) => type === TYPE.reset && stream === 1)
    clearInterval(talking)
    raw.socket.destroy()
    expect(reset.payload.readUInt32BE()).not.toBe(constants.NGHTTP2_NO_ERROR)
  })
})

describe('an HTTP/2 connection', () => {
  it('is closed when the client does not answer whether it is still there', async () => {
    const { port } = await start({ pingEvery: 50 }, () => {})
    const raw = await RawHttp2.connect(port)
    raw.send(get(1))
    await raw.closed
    expect(raw.frames.map(({ type }) => type)).toContain(TYPE.ping)
  })

  it('is closed when the client answers something else', async () => {
    const { port } = await start({ pingEvery: 50 }, () => {})
    const raw = await RawHttp2.connect(port)
    raw.send(get(1))
    await raw.frame(({ type }) => type === TYPE.ping)
    raw.send(frame(TYPE.ping, FLAG.ack, 0, Buffer.alloc(8)))
    await raw.closed
  })

  it('stays for an answer that takes long, while the client says that it is there', async () => {
    let release = () => {}
    const { url } = await start(
      // As long as a busy machine may take to answer a ping.
      { pingEvery: 300, idleTimeout: 400, requestTimeout: 400, answerTimeout: 300 },
      (_req, res) => {
        res.write('first ')
        release = () => res.end('last')
      },
    )
    const session = connectHttp2(url)
    let pings = 0
    session.on('ping', () => {
      pings += 1
      if (pings === 4) release()
    })
    let text = ''
    for await (const chunk of session.request({ ':path': '/' })) text += chunk
    session.destroy()
    expect(text).toBe('first last')
  })

  it('is told to go when nobody has asked for anything for a while', async () => {
    const { port } = await start({ idleTimeout: 50 }, answer)
    const raw = await RawHttp2.connect(port)
    raw.send(get(1))
    await raw.closed
    const goaway = raw.frames.find(({ type }) => type === TYPE.goaway)
    expect(goaway?.payload.readUInt32BE()).toBe(1)
    expect(goaway?.payload.readUInt32BE(4)).toBe(constants.NGHTTP2_NO_ERROR)
  })
})
