import { connect as connectHttp2, constants } from 'node:http2'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS, type Limits } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
import { FLAG, fields, frame, number, RawHttp2, requestFields, setting, TYPE } from '../../../support/http2-frames.ts'
import { createRecordingLog } from '../../../support/log.ts'

const INITIAL_WINDOW_SIZE = 4
/** More than every limit. */
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
    [
      'streams that it resets',
      (i) => Buffer.concat([get(2 * i + 1), frame(TYPE.reset, 0, 2 * i + 1, number(constants.NGHTTP2_CANCEL))]),
    ],
    [
      'streams that the server must reset',
      (i) => Buffer.concat([post(2 * i + 1), frame(TYPE.windowUpdate, 0, 2 * i + 1, number(0))]),
    ],
    ['an endless head', (i) => (i === 0 ? headWithoutEnd() : frame(TYPE.continuation, 0, 1, fields([['a', 'b']])))],
    ['empty DATA frames', (i) => (i === 0 ? post(1) : frame(TYPE.data, 0, 1))],
    ['streams that depend on themselves', (i) => selfDependent(2 * i + 1)],
  ])('with %s loses it, and other clients are served', async (_name, next) => {
    const { port, url } = await start({}, answer)
    const other = connectHttp2(url)
    const flood = await RawHttp2.connect(port)
    await flood.frame(({ type }) => type === TYPE.settings)
    flood.send(frame(TYPE.settings, FLAG.ack, 0))
    await flood.sendUntilClosed(MANY, next)
    await flood.closed
    const stream = other.request({ ':path': '/' })
    expect(await text(stream)).toBe('answer')
    other.destroy()
  })
})

function headWithoutEnd(): Buffer {
  return frame(TYPE.headers, 0, 1, requestFields('GET'))
}

function longHead(): Buffer {
  // Fits into a frame, but not into the limit, which counts 32 bytes more for each field.
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
})

describe('a client that does not read its response', () => {
  it('because its window is closed, loses the response after a while, although it still sends frames', async () => {
    const { port } = await start({ requestTimeout: 50 }, answer)
    const raw = await RawHttp2.connect(port, setting(INITIAL_WINDOW_SIZE, 0))
    raw.send(get(1))
    const talking = setInterval(() => raw.send(frame(TYPE.ping, 0, 0, Buffer.alloc(8))), 20)
    const reset = await raw.frame(({ type, stream }) => type === TYPE.reset && stream === 1)
    clearInterval(talking)
    raw.socket.destroy()
    expect(reset.payload.readUInt32BE()).not.toBe(constants.NGHTTP2_NO_ERROR)
  })
})
