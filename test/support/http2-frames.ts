/**
 * HTTP/2 frame by frame (RFC 9113 §4), for clients that do what no library would.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8, continuation: 9 }
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4 }

/** A frame as it was received. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** The bytes of a frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Header fields without compression (RFC 7541 §6.2.2). */
export function fields(pairs: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string) => Buffer.concat([length(value.length), Buffer.from(value, 'latin1')])
  return Buffer.concat(pairs.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

/** The fields of a request. */
export function requestFields(method: string, path = '/'): Buffer {
  return fields([
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
  ])
}

/** The payload of a frame that is one number. */
export function number(value: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(value)
  return payload
}

/** A setting (RFC 9113 §6.5.1). */
export function setting(id: number, value: number): Buffer {
  const payload = Buffer.alloc(6)
  payload.writeUInt16BE(id)
  payload.writeUInt32BE(value, 2)
  return payload
}

/** A connection that has begun to speak HTTP/2 and answers nothing by itself. */
export class RawHttp2 {
  readonly socket: Socket
  readonly frames: Frame[] = []
  readonly closed: Promise<unknown>
  #received = Buffer.alloc(0)

  private constructor(socket: Socket) {
    this.socket = socket
    this.closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.on('data', (chunk) => this.#receive(chunk))
  }

  /** Connects and sends the preface with these settings. */
  static async connect(port: number, settings: Uint8Array = Buffer.alloc(0)): Promise<RawHttp2> {
    const socket = connect(port, '127.0.0.1')
    const raw = new RawHttp2(socket)
    await once(socket, 'connect')
    raw.send(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(TYPE.settings, 0, 0, settings))
    return raw
  }

  send(...frames: readonly Uint8Array[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames))
  }

  /**
   * Sends again and again, until the server closes the connection or so many times.
   *
   * @returns How often the system has taken it so far.
   */
  async sendUntilClosed(times: number, next: (i: number) => Uint8Array): Promise<number> {
    let taken = 0
    for (let i = 0; i < times && !this.socket.destroyed; i += 1) {
      this.socket.write(next(i), (error) => {
        if (!error) taken += 1
      })
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    return taken
  }

  /** The next frame like this, or one that has come. */
  async frame(isIt: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(isIt)
      if (found !== undefined) return found
      await once(this.socket, 'data')
    }
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    while (this.#received.length >= 9) {
      const end = 9 + this.#received.readUIntBE(0, 3)
      if (this.#received.length < end) return
      this.frames.push({
        type: this.#received.readUInt8(3),
        flags: this.#received.readUInt8(4),
        stream: this.#received.readUInt32BE(5),
        payload: this.#received.subarray(9, end),
      })
      this.#received = this.#received.subarray(end)
    }
  }
}

/** A length with a prefix of seven bits (RFC 7541 §5.1). */
function length(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}
