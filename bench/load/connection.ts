/**
 * One HTTP/1.1 keep-alive connection that asks one thing at a time, with as little work as possible: the load generator
 * shares the machine with what it measures.
 */
import { createConnection, type Socket } from 'node:net'

const END_OF_HEAD = '\r\n\r\n'

/** More than any answer has, in bytes. Longer ones come in pieces. */
const READ_AT_ONCE = 16_384

/** What came back. */
export interface Answer {
  readonly status: number
  /** Only until the one who is told returns: then the next answer comes into the same place. */
  readonly body: Buffer
}

/** Told of the answer, or why there is none. */
export type Answered = (answer: Answer | Error) => void

export class Connection {
  readonly #host: string
  readonly #port: number
  #socket: Socket | undefined
  #received: Buffer | undefined
  #answered: Answered | undefined

  constructor(url: string) {
    const { hostname, port } = new URL(url)
    this.#host = hostname
    this.#port = Number(port)
  }

  /** Sends a whole request. The one before must have been answered. Connects when there is no connection. */
  ask(request: string, answered: Answered): void {
    this.#answered = answered
    this.#socket ??= this.#connect()
    this.#socket.write(request, 'latin1')
  }

  close(): void {
    this.#socket?.destroy()
  }

  #connect(): Socket {
    const buffer = Buffer.allocUnsafe(READ_AT_ONCE)
    const take = (length: number) => {
      this.#take(buffer.subarray(0, length))
      return true
    }
    // Read into one buffer, past the stream: the load generator costs about a fifth less.
    const onread = { buffer, callback: take }
    const socket = createConnection({ host: this.#host, port: this.#port, noDelay: true, onread })
    socket.on('error', (error) => this.#lose(error))
    socket.on('close', () => this.#lose(new Error('the connection was closed')))
    return socket
  }

  #lose(error: Error): void {
    this.#socket?.removeAllListeners('close')
    this.#socket?.destroy()
    this.#socket = undefined
    this.#received = undefined
    this.#finish(error)
  }

  #take(chunk: Buffer): void {
    const received = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk])
    this.#received = undefined
    const answer = answerIn(received)
    if (answer instanceof Error) this.#lose(answer)
    else if (answer !== undefined) this.#finish(answer)
    // What follows comes into the same place.
    else this.#received = Buffer.from(received)
  }

  #finish(answer: Answer | Error): void {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(answer)
  }
}

/** The answer, if all of it is here. */
function answerIn(received: Buffer): Answer | Error | undefined {
  const endOfHead = received.indexOf(END_OF_HEAD)
  if (endOfHead < 0) return undefined
  const head = received.toString('latin1', 0, endOfHead)
  const status = Number(head.slice(9, 12))
  const begin = endOfHead + END_OF_HEAD.length
  const length = status === 304 ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1])
  if (Number.isNaN(length)) return new Error(`an answer does not say how long it is: ${head}`)
  if (received.length < begin + length) return undefined
  return { status, body: received.subarray(begin, begin + length) }
}
