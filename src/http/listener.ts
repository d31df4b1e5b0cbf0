/**
 * One port for HTTP/1.1 and HTTP/2, in cleartext or with TLS, with limits and graceful shutdown.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2Server, Http2ServerRequest } from 'node:http2'
import { type AddressInfo, isIP, Server as NetServer, type Socket } from 'node:net'
import { setHeaders } from '../domain/header-list.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { Connections } from './connections/connections.ts'
import { Http2Sessions, isHeadTooLong } from './connections/http2-sessions.ts'
import type { Limits } from './connections/limits.ts'
import { BodyBudget } from './requests/body-budget.ts'
import { type Handler, HSTS, NO_SNIFF, type Refusal, refuse } from './requests/exchange.ts'
import { framingProblem } from './requests/framing.ts'
import { answerParseErrors, headTooLong, refuseAndClose } from './requests/parse-errors.ts'
import { ResponseTimeouts } from './requests/response-timeouts.ts'
import { type AnyServer, createServers, startListening } from './servers.ts'
import type { TlsFiles } from './tls/tls-files.ts'

/** Between two closings of idle connections during graceful shutdown, in milliseconds. */
const CLOSE_IDLE_INTERVAL = 50

/** Where and how to listen. */
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

/** An open port. */
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

/** `allow` has the methods of all paths, because CONNECT names no path (RFC 9110 §9.3.6). */
const NO_TUNNELS: Refusal = {
  status: 405,
  code: 'invalid_request',
  description: 'this server opens no tunnels: CONNECT is not allowed',
  headers: { allow: 'GET, HEAD, POST, OPTIONS' },
}

type AnyRequest = IncomingMessage | Http2ServerRequest

/** @throws {Error} that says what to do, if the port cannot be opened or the certificate cannot be used. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, tls, limits, log } = options
  const connections = new Connections(limits.maxConnections)
  const { maxBodiesBytes, maxBodyBytes } = limits
  const bodies = new BodyBudget({ maxBytes: maxBodiesBytes, maxBodyBytes, connections, log })
  const { server, http2, unwatch } = await createServers(options, { connections, bodies })
  const timeouts = new ResponseTimeouts(limits)
  /** Sockets with a request that was badly framed. What Node parses after it may be a part of its body (request smuggling). */
  const poisoned = new WeakSet<object>()
  const handler = (req: IncomingMessage, res: ServerResponse): void => {
    // For HTTP/2 the protocol has the framing, and `socket` would create a Proxy for each request. A request line of HTTP/1 can name
    // version 2.0, so the version does not tell which one it is.
    const http1Socket = 'stream' in req ? undefined : req.socket
    if (http1Socket !== undefined && poisoned.has(http1Socket)) return
    const response = timeouts.begin(req, res)
    const exchange = connections.begin(req)
    bodies.begin(req, res)
    // Emitted once.
    res.on('close', () => {
      timeouts.end(response)
      if (exchange !== undefined) connections.end(exchange)
      bodies.release(req)
    })
    const badFraming = http1Socket === undefined ? undefined : framingProblem(req)
    if (http1Socket !== undefined && badFraming !== undefined) {
      poisoned.add(http1Socket)
      res.setHeader('connection', 'close')
      refuseUnrouted(res, badFraming)
    } else if (isHeadOverLimit(req, limits)) refuseUnrouted(res, headTooLong(limits.maxHeadBytes))
    // The router catches all errors.
    else void options.handler(req, res)
  }

  /** Refuses a request that does not reach the router. */
  const refuseUnrouted = (res: ServerResponse, refusal: Refusal): void => {
    setHeaders(res, tls === null ? NO_SNIFF : [...NO_SNIFF, ...HSTS])
    refuse(res, refusal)
  }
  const refuseTunnel = (req: AnyRequest, target: ServerResponse | Socket): void => {
    if ('stream' in req) refuseUnrouted(target as ServerResponse, NO_TUNNELS)
    else refuseAndClose(target as Socket, connections, NO_TUNNELS)
  }

  answerParseErrors(server, {
    connections,
    maxHeadBytes: limits.maxHeadBytes,
    isPoisoned: (socket) => poisoned.has(socket),
  })
  for (const emitter of new Set<AnyServer | Http2Server>([server, http2])) {
    // Without this listener Node closes an HTTP/1.1 connection, and responds without a body over HTTP/2.
    emitter.on('connect', refuseTunnel as never)
    emitter.on('request', handler as never)
    // An unknown expectation may be ignored (RFC 9110 §10.1.1).
    emitter.on('checkExpectation', handler as never)
  }
  const sessions = new Http2Sessions(http2, { limits, connections, bodies })
  try {
    await startListening(server, { host, port })
  } catch (error) {
    timeouts.stop()
    unwatch()
    throw error
  }

  const actual = (server.address() as AddressInfo).port
  const close = async (grace: number): Promise<void> => {
    timeouts.drain()
    unwatch()
    const closed = once(server, 'close')
    // `server.close` would also close connections with requests that were sent and are not read yet.
    await afterPoll()
    NetServer.prototype.close.call(server)
    sessions.close()
    connections.closeIdle()
    // Connections that become idle later.
    const closing = setInterval(() => void afterPoll().then(() => connections.closeIdle()), CLOSE_IDLE_INTERVAL)
    const cut = setTimeout(() => {
      sessions.destroy()
      connections.destroy()
    }, grace)
    await closed
    clearInterval(closing)
    clearTimeout(cut)
    timeouts.stop()
    // Stops the server's timer, the only thing left.
    server.close()
  }
  let closed: Promise<void> | undefined
  return {
    port: actual,
    url: `${tls === null ? 'http' : 'https'}://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`,
    connections: () => connections.size,
    drain: () => {
      timeouts.drain()
      sessions.drain()
    },
    close: (grace) => {
      closed ??= close(grace)
      return closed
    },
  }
}

function isHeadOverLimit(req: AnyRequest, limits: Limits): boolean {
  return 'stream' in req && isHeadTooLong(req, limits)
}

/** Resolves when all that clients have sent by now is read: the event loop polls before its check phase. */
function afterPoll(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
