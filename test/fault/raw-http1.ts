/**
 * A client of HTTP/1.1 that sends whatever bytes it is given, and reads what comes back strictly.
 */
import { connect, type Socket } from 'node:net'

/** An answer as it was received. */
export interface RawAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** How long an answer may take, in milliseconds; and how long one is waited for that may never come. */
const TIMEOUT = 20_000
const SHORT_TIMEOUT = 100

/** A connection, opened again when the server closes it. */
export class RawHttp1 {
  readonly #port: number
  readonly #nextAddress: () => string
  #socket: Socket | undefined

  /** @param nextAddress The address of this machine for each new connection. */
  constructor(port: number, nextAddress: () => string) {
    this.#port = port
    this.#nextAddress = nextAddress
  }

  /**
   * Sends a request and reads one answer; null if the server closed the connection instead of answering.
   *
   * @param mayNotEnd The server may wait for more: then null is returned soon, and the connection is not used again.
   *
   * @throws {Error} if what comes back is no answer of HTTP, or nothing comes back in time.
   */
  async send(
    bytes: Buffer,
    { isHead, mayNotEnd }: { readonly isHead: boolean; readonly mayNotEnd: boolean },
  ): Promise<RawAnswer | null> {
    const socket = await this.#open()
    const answer = readAnswer(socket, isHead, mayNotEnd)
    socket.write(bytes)
    const { value, reusable } = await answer
    if (!reusable || mayNotEnd) this.close()
    return value
  }

  /** Lets go of the connection, for example because a request may not have ended. */
  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #open(): Promise<Socket> {
    if (this.#socket !== undefined && !this.#socket.destroyed && this.#socket.writable) return this.#socket
    const socket = connect({ port: this.#port, host: '127.0.0.1', localAddress: this.#nextAddress() })
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    socket.on('error', () => {})
    this.#socket = socket
    return socket
  }
}

function readAnswer(
  socket: Socket,
  isHead: boolean,
  mayNotEnd: boolean,
): Promise<{ value: RawAnswer | null; reusable: boolean }> {
  let received = Buffer.alloc(0)
  return new Promise((resolve, reject) => {
    const giveUp = () =>
      finish(() => {
        if (mayNotEnd) resolve({ value: null, reusable: false })
        else reject(new Error('there was no answer in time'))
      })
    const timer = setTimeout(giveUp, mayNotEnd ? SHORT_TIMEOUT : TIMEOUT)
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onClose).off('end', onClose)
      settle()
    }
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      try {
        const value = parseAnswer(received, isHead)
        if (value === undefined) return
        finish(() => resolve({ value, reusable: value.headers.get('connection') !== 'close' }))
      } catch (error) {
        finish(() => reject(error))
      }
    }
    const onClose = () =>
      finish(() => {
        if (received.length === 0) resolve({ value: null, reusable: false })
        else reject(new Error(`the answer was cut off: ${received.toString('latin1').slice(0, 500)}`))
      })
    socket.on('data', onData).on('close', onClose).on('end', onClose)
  })
}

/** Undefined while it is not whole. */
function parseAnswer(bytes: Buffer, isHead: boolean): RawAnswer | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine)?.[1] ?? Number.NaN)
  if (Number.isNaN(status)) throw new Error(`not a status line: ${statusLine}`)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x20-\x7e]*)$/.exec(line)
    if (field?.[1] === undefined) throw new Error(`not a header field: ${line}`)
    headers.set(field[1].toLowerCase(), field[2] ?? '')
  }
  // An interim answer, such as 100, is followed by the real one.
  if (status < 200) return parseAnswer(bytes.subarray(end + 4), isHead)
  const rest = bytes.subarray(end + 4)
  if (isHead || status === 204 || status === 304) return { status, headers, body: Buffer.alloc(0) }
  if (headers.get('transfer-encoding') === 'chunked') {
    const body = dechunk(rest)
    return body === undefined ? undefined : { status, headers, body }
  }
  const length = Number(headers.get('content-length'))
  // Node's own answer to what it cannot parse has no body and ends the connection (RFC 9112 §6.3).
  const isOfNode = headers.get('connection') === 'close' && rest.length === 0
  if (!headers.has('content-length') && !isOfNode) throw new Error('the answer does not say how long it is')
  return rest.length < length ? undefined : { status, headers, body: rest.subarray(0, length) }
}

function dechunk(bytes: Buffer): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const length = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (Number.isNaN(length)) throw new Error('not a chunk')
    if (bytes.length < line + 4 + length) return undefined
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(line + 2, line + 2 + length))
    at = line + 4 + length
  }
}
