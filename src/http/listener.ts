/**
 * One port for HTTP/1.1 and HTTP/2, in cleartext or with TLS, with limits and graceful shutdown.
 */
import { constants } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2ServerRequest,
} from 'node:http2'
import { type AddressInfo, isIP, Server as NetServer, type Socket } from 'node:net'
import { setHeaders } from '../domain/header-list.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { Connections } from './connections/connections.ts'
import { Http2Sessions, http2Options, isHeadTooLong } from './connections/http2-sessions.ts'
import type { Limits } from './connections/limits.ts'
import { switchProtocol } from './connections/protocol-switch.ts'
import { BodyBudget } from './requests/body-budget.ts'
import { type Handler, HSTS, NO_SNIFF, type Refusal, refuse } from './requests/exchange.ts'
import { framingProblem } from './requests/framing.ts'
import { answerParseErrors, headTooLong, refuseAndClose } from './requests/parse-errors.ts'
import { ResponseTimeouts } from './requests/response-timeouts.ts'
import { ClientAuthorities } from './tls/client-authorities.ts'
import { HandshakeBudget } from './tls/handshake-budget.ts'
import { authoritiesIn, type Certificate, readCertificate, type TlsFiles, watchCertificate } from './tls/tls-files.ts'

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
type AnyServer = Server | Http2SecureServer

/** @throws {Error} that says what to do, if the port cannot be opened or the certificate cannot be used. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, tls, limits, log } = options
  const connections = new Connections(limits.maxConnections)
  const { maxBodiesBytes, maxBodyBytes } = limits
  const bodies = new BodyBudget({ maxBytes: maxBodiesBytes, maxBodyBytes, connections, log })
  const parts =
    tls === null
      ? cleartextServer(limits, connections, bodies)
      : await secureServer(options, tls, { connections, bodies })
  const { server, http2 } = parts
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

  setHttp1Limits(server as Server, limits)
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
    parts.unwatch()
    throw error
  }

  const actual = (server.address() as AddressInfo).port
  const close = async (grace: number): Promise<void> => {
    timeouts.drain()
    parts.unwatch()
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

/**
 * For connections whose certificates count. Sessions are not resumed, because a resumed one has lost the certificates that came with that
 * of the client; and the certificate of a connection does not change. No authorities are named to clients, which then present what they
 * have.
 */
const ASKING = { ca: [], secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION }

interface Parts {
  /** Has the port. */
  readonly server: AnyServer
  /** Has the HTTP/2 sessions. */
  readonly http2: Http2Server | Http2SecureServer
  /** Stops watching the certificate files. */
  readonly unwatch: () => void
}

function cleartextServer(limits: Limits, connections: Connections, bodies: BodyBudget): Parts {
  // The HTTP/1.1 server has the port, because Node enforces timeouts only in a listening server. Its own `connection` listeners get
  // the connections that are not HTTP/2.
  const http1 = createServer({ ...http1Options(limits), IncomingMessage: bodies.trackedMessages() })
  const http2 = createHttp2Server(http2Options(limits))
  limitConnections(http1, connections, (socket, accept) => {
    switchProtocol(socket, limits.headTimeout, {
      http1: accept,
      http2: () => {
        // The HTTP/1.1 server accepts half-open connections; an HTTP/2 session would not notice that its client has left.
        socket.allowHalfOpen = false
        http2.emit('connection', socket)
      },
    })
  })
  return { server: http1, http2, unwatch: () => {} }
}

async function secureServer(
  { limits, log, asksForCertificates = false }: ListenOptions,
  files: TlsFiles,
  { connections, bodies }: { readonly connections: Connections; readonly bodies: BodyBudget },
): Promise<Parts> {
  const initial = await readCertificate(files)
  const contextOf = (certificate: Certificate) => (asksForCertificates ? { ...ASKING, ...certificate } : certificate)
  const server = createSecureServer({
    ...http2Options(limits),
    ...http1Options(limits),
    ...contextOf(initial),
    requestCert: files.clientCaFile !== null || asksForCertificates,
    // The handshake fails for clients without a certificate of a trusted authority.
    rejectUnauthorized: files.clientCaFile !== null,
    allowHTTP1: true,
    Http1IncomingMessage: bodies.trackedMessages(),
    handshakeTimeout: limits.headTimeout,
  } as Parameters<typeof createSecureServer>[0])
  limitConnections(server, connections, (_socket, accept) => accept())
  if (asksForCertificates) limitHandshakes(server, connections)
  const authorities = new ClientAuthorities(server, authoritiesIn(initial.ca), limits.headTimeout)
  const unwatch = watchCertificate(files, log, (certificate) => {
    server.setSecureContext(contextOf(certificate))
    authorities.replace(authoritiesIn(certificate.ca))
  })
  return { server, http2: server, unwatch }
}

/** Before the server reads requests. */
function limitHandshakes(server: AnyServer, connections: Connections): void {
  const handshakes = new HandshakeBudget()
  server.prependListener('secureConnection', (socket: Socket) => {
    const tcp = connections.socketOf(socket)
    if (tcp !== undefined) handshakes.add(tcp)
  })
}

/** Applies the connection limit to new connections, then `next`, which may pass them on to the server's own listeners. */
function limitConnections(
  server: AnyServer,
  connections: Connections,
  next: (socket: Socket, accept: () => void) => void,
): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    if (socket.destroyed) return
    next(socket, () => {
      for (const listener of listeners) listener.call(server, socket)
    })
  })
}

function http1Options(limits: Limits): ServerOptions {
  return {
    connectionsCheckingInterval: limits.checkInterval,
    maxHeaderSize: limits.maxHeadBytes,
    // The router checks it, and refuses in the format of all other errors.
    requireHostHeader: false,
    keepAlive: true,
    keepAliveInitialDelay: limits.keepAliveTimeout,
  }
}

function setHttp1Limits(server: Server, limits: Limits): void {
  server.headersTimeout = limits.headTimeout
  server.requestTimeout = limits.requestTimeout
  server.keepAliveTimeout = limits.keepAliveTimeout
  server.timeout = limits.idleTimeout
}

function isHeadOverLimit(req: AnyRequest, limits: Limits): boolean {
  return 'stream' in req && isHeadTooLong(req, limits)
}

/** Resolves when all that clients have sent by now is read: the event loop polls before its check phase. */
function afterPoll(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function startListening(server: AnyServer, address: { host: string; port: number }): Promise<void> {
  server.listen(address)
  try {
    await once(server, 'listening')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`cannot listen on ${address.host} port ${address.port}: ${reason}: choose another with --listen`, {
      cause: error,
    })
  }
}
