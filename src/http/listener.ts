/** One port for HTTP/1.1 and HTTP/2, in cleartext or with TLS, with limits and graceful shutdown. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, isIP } from 'node:net'
import { messageOf } from '../domain/errors.ts'
import { setHeaders } from '../domain/http-headers.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { Connections } from './connections/connections.ts'
import type { Limits } from './connections/limits.ts'
import { cutOff, type Handler, HSTS, NO_SNIFF, type Refusal, refuse } from './requests/exchange.ts'
import { createServers } from './servers.ts'
import type { TlsFiles } from './tls/tls-files.ts'

/** Between two closings of idle connections during graceful shutdown, in milliseconds. */
const CLOSE_IDLE_INTERVAL = 50

export interface ListenOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly tls: TlsFiles | null
  /** Whether clients are asked for a certificate, which they need not have and nothing has issued. Default false. */
  readonly asksForCertificates?: boolean
  readonly limits: Limits
  readonly log: Log
  readonly handler: Handler
}

export interface Listener {
  readonly port: number
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string
  /** How many connections are open. */
  connections(): number
  /**
   * Asks clients to reconnect elsewhere and continues to serve: HTTP/1.1 responses say `connection: close` (RFC 9112 §9.6), HTTP/2
   * clients without TLS get a first GOAWAY (RFC 9113 §6.8).
   */
  drain(): void
  /**
   * Graceful shutdown: refuses new connections, answers the requests in flight, and resolves when all connections are closed.
   *
   * @param grace Connections that are open after so many milliseconds are closed at once.
   */
  close(grace: number): Promise<void>
}

const OVERLOADED: Refusal = {
  status: 503,
  code: 'temporarily_unavailable',
  description: 'too many requests are in flight: try again later',
  headers: { 'retry-after': '1' },
}

/** Not 503: clients retry that by policy, and the handler may have done its work. */
const TOO_LATE: Refusal = { status: 500, code: 'server_error', description: 'the request was not answered in time' }

/** So many request timeouts a handler may take to begin its response. */
const MAX_WAITS = 3

/** @throws {Error} that says what to do, if the port cannot be opened or the certificate cannot be used. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, tls, limits } = options
  const connections = new Connections()
  const { server, http2, unwatch } = await createServers(options, connections)
  let inFlight = 0
  /** Sockets with a request that was badly framed. What Node parses after it may be a part of its body (request smuggling). */
  const poisoned = new WeakSet<object>()
  /** Of HTTP/1.1, not ended. */
  const responses = new Set<ServerResponse>()
  const handler = (req: IncomingMessage, res: ServerResponse): void => {
    const isHttp2 = 'stream' in req
    if (!isHttp2 && poisoned.has(req.socket)) return
    const connection = connections.begin(req)
    const timer = limitTime(res, limits.requestTimeout)
    // What HTTP/1.1 without a body takes is limited by the connections, so that probes are answered under every load.
    const permits = isHttp2 || hasBody(req) ? 1 : 0
    inFlight += permits
    const isOverload = permits > 0 && inFlight > limits.maxRequests
    // Emitted once.
    res.on('close', () => {
      clearInterval(timer)
      responses.delete(res)
      inFlight -= permits
      connections.end(connection)
    })
    if (isHttp2) {
      // A request that was not processed may be retried (RFC 9113 §8.7).
      if (isOverload) (req.stream as ServerHttp2Stream).close(constants.NGHTTP2_REFUSED_STREAM)
      // The router catches all errors.
      else void options.handler(req, res)
      return
    }
    responses.add(res)
    const badFraming = framingProblem(req)
    if (badFraming !== undefined) poisoned.add(req.socket)
    const refusal = badFraming ?? (isOverload ? OVERLOADED : undefined)
    if (connections.isDraining || refusal !== undefined) res.setHeader('connection', 'close')
    if (refusal === undefined) void options.handler(req, res)
    else {
      setHeaders(res, tls === null ? NO_SNIFF : [...NO_SNIFF, ...HSTS])
      refuse(res, refusal)
    }
  }
  for (const emitter of new Set([server, http2])) emitter.on('request', handler as never)
  server.listen({ host, port })
  try {
    await once(server, 'listening')
  } catch (error) {
    unwatch()
    const reason = messageOf(error)
    throw new Error(`cannot listen on ${host} port ${port}: ${reason}: choose another with --listen`, { cause: error })
  }

  const drain = (): void => {
    connections.drain()
    for (const res of responses) if (!res.headersSent) res.setHeader('connection', 'close')
  }
  const actual = (server.address() as AddressInfo).port
  const close = async (grace: number): Promise<void> => {
    unwatch()
    const closed = once(server, 'close')
    // `server.close` would also close connections with requests that were sent and are not read yet.
    await afterPoll()
    drain()
    server.close()
    connections.closeSessions()
    const closing = setInterval(() => void afterPoll().then(() => connections.closeIdle()), CLOSE_IDLE_INTERVAL)
    const cut = setTimeout(() => connections.destroy(), grace)
    await closed
    clearInterval(closing)
    clearTimeout(cut)
  }
  let closed: Promise<void> | undefined
  return {
    port: actual,
    url: `${tls === null ? 'http' : 'https'}://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`,
    connections: () => connections.size,
    drain,
    close: (grace) => {
      closed ??= close(grace)
      return closed
    },
  }
}

/**
 * Ends what takes too long, within up to twice the time: a request of HTTP/2 that does not arrive (Node has a timeout for HTTP/1.1), a
 * handler that does not answer, and a client that does not read its response, also if it reads byte by byte: Node reports whole writes only.
 */
function limitTime(res: ServerResponse, milliseconds: number): NodeJS.Timeout {
  let waits = 0
  let unsentBefore = 0
  return setInterval(() => {
    if ('stream' in res && (res.stream as ServerHttp2Stream).state.remoteClose !== 1) return cutOff(res)
    if (!res.headersSent) {
      waits += 1
      if (waits === MAX_WAITS) refuse(res, TOO_LATE)
      return
    }
    // A pipelined response of HTTP/1.1 has no socket before its turn.
    const unsent = res.socket === null ? 0 : res.writableLength
    if (unsent > 0 && unsent === unsentBefore) cutOff(res)
    unsentBefore = unsent
  }, milliseconds)
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Why a request must be refused and its connection closed, beyond what Node checks: a proxy in front could see the end of the body elsewhere. */
function framingProblem({ httpVersion, headers }: IncomingMessage): Refusal | undefined {
  const encoding = headers['transfer-encoding']
  if (encoding === undefined) return undefined
  if (httpVersion !== '1.1') {
    return { status: 400, code: 'invalid_request', description: 'Transfer-Encoding is for HTTP/1.1 only' }
  }
  if (encoding.toLowerCase() === 'chunked') return undefined
  return { status: 501, code: 'invalid_request', description: 'the only Transfer-Encoding is chunked' }
}

/** Resolves when all that clients have sent by now is read: the event loop polls before its check phase. */
function afterPoll(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
