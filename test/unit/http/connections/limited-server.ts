/**
 * A server with a limit of three connections, a handler that holds responses back, and its clients.
 */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { DEFAULT_LIMITS, type Limits } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
import { createRecordingLog } from '../../../support/log.ts'

export const MAX = 3
export const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

export const opened: { destroy(): void }[] = []
export let listener: Listener

/** Closes the server and all clients. */
export async function stop(): Promise<void> {
  for (const one of opened.splice(0)) one.destroy()
  await listener.close(0)
}

/** Answers at once, but at `/held` when a test calls `releases`. */
export class Held {
  readonly releases: (() => void)[] = []
  readonly handler: Handler = (req, res) => {
    req.on('error', () => {})
    if (req.url === '/held') this.releases.push(() => res.end('held'))
    else req.resume().on('end', () => res.end('answer'))
  }

  /** Waits until so many responses are held. */
  async has(count: number): Promise<void> {
    while (this.releases.length < count) await nextTurn()
  }
}

function nextTurn(): Promise<unknown> {
  return new Promise((resolve) => setImmediate(resolve))
}

export async function start(
  { handler }: { handler: Handler } = new Held(),
  others: Partial<Limits> = {},
): Promise<void> {
  const limits = { ...DEFAULT_LIMITS, maxConnections: MAX, ...others }
  listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits, log: createRecordingLog(), handler })
}

/** A connection, and whether it has been closed. */
export class Client {
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

  /** Sends a request and waits until the response ends with `answer`. */
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

export async function session(): Promise<ClientHttp2Session> {
  const client = connectHttp2(listener.url)
  client.on('error', () => {})
  opened.push(client)
  await once(client, 'remoteSettings')
  return client
}

export function bodyOf(client: ClientHttp2Session, path = '/'): Promise<string> {
  return textOf(client.request({ ':path': path }))
}

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += chunk
  return text
}
