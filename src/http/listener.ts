/**
 * One port for HTTP/1.1 and HTTP/2, in cleartext or with TLS, within limits.
 */
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
import type { Log } from '../domain/ports.ts'
import { Connections } from './connections/connections.ts'
import { Http2Sessions, http2Options, isHeadTooLong } from './connections/http2-sessions.ts'
import type { Limits } from './connections/limits.ts'
import { switchProtocol } from './connections/protocol-switch.ts'
import { BodyBudget } from './requests/body-budget.ts'
import { type Handler, NO_SNIFFING, OVER_TLS, type Refusal, refuse, setHead } from './requests/exchange.ts'
import { framingProblem } from './requests/framing.ts'
import { answerParseError, headTooLong, refuseAndClose } from './requests/parse-errors.ts'
import { ResponseTimeouts } from './requests/response-timeouts.ts'
import { ClientAuthorities } from './tls/client-authorities.ts'
import { authoritiesIn, followCertificate, readCertificate, type TlsFiles } from './tls/tls-files.ts'

/** How often connections that have become quiet are closed while the server stops, in milliseconds. */
const CLOSE_QUIET_EVERY = 50

/** Where and how to listen. */
export interface ListenOptions {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly tls: TlsFiles | null
  readonly limits: Limits
  readonly log: Log
  readonly handler: Handler
}

/** A port that is being listened on. */
export interface Listener {
  readonly port: number
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string
  /** How many connections are open. */
  connections(): number
  /**
   * Steers clients away and serves on: HTTP/1.1 connections end with their next answer (RFC 9112 §9.6), HTTP/2 clients without
   * TLS get a GOAWAY that refuses nothing yet (RFC 9113 §6.8).
   */
  drain(): void
  /**
   * Takes no more connections, finishes what is in flight, and ends when all connections have.
   *
   * @param grace After so many milliseconds the rest is cut off.
   */
  close(grace: number): Promise<void>
}

/** Any method that the server has somewhere: a tunnel is to another server, and not to a path here (RFC 9110 §9.3.6). */
const NO_TUNNELS: Refusal = {
  status: 405,
  code: 'invalid_request',
  description: 'this server opens no tunnels: CONNECT is not allowed',
  headers: { allow: 'GET, HEAD, POST, OPTIONS' },
}

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyServer = Server | Http2SecureServer

/** @throws {Error} that says what to do, if the address cannot be listened on or the certificate cannot be used. */
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
  const answers = new ResponseTimeouts(limits)
  /** What comes on these after a request with a bad framing may be a part of it. Node goes on reading what is here already. */
  const spoiled = new WeakSet<object>()
  const handler = (req: IncomingMessage, res: ServerResponse): void => {
    if (spoiled.has(req.socket)) return
    const answer = answers.begin(req, res)
    const exchange = connections.begin(req)
    bodies.begin(req, res)
    // Each of these events comes once.
    res.on('close', () => {
      answers.ended(answer)
      if (exchange !== undefined) connections.ended(exchange)
      bodies.release(req)
    })
    const badFraming = framingProblem(req)
    if (badFraming !== undefined) {
      spoiled.add(req.socket)
      res.setHeader('connection', 'close')
      refuseUnrouted(res, badFraming)
    } else if (isTooLong(req, limits)) refuseUnrouted(res, headTooLong(limits.maxHeadBytes))
    // The router answers failures itself; nothing is left to be caught.
    else void options.handler(req, res)
  }

  /** Refuses what the router would not understand. */
  const refuseUnrouted = (res: ServerResponse, refusal: Refusal): void => {
    setHead(res, tls === null ? NO_SNIFFING : [...NO_SNIFFING, ...OVER_TLS])
    refuse(res, refusal)
  }
  const refuseTunnel = (req: AnyRequest, answer: ServerResponse | Socket): void => {
    if ('stream' in req) refuseUnrouted(answer as ServerResponse, NO_TUNNELS)
    else refuseAndClose(answer as Socket, connections, NO_TUNNELS)
  }

  setHttp1Limits(server as Server, limits)
  answerParseError(server, {
    connections,
    maxHeadBytes: limits.maxHeadBytes,
    isRefused: (socket) => spoiled.has(socket),
  })
  for (const one of new Set<AnyServer | Http2Server>([server, http2])) {
    // A server without a listener closes the connection over HTTP/1.1, and answers without a body over HTTP/2.
    one.on('connect', refuseTunnel as never)
    one.on('request', handler as never)
    // A server may look away from what it does not know (RFC 9110 §10.1.1).
    one.on('checkExpectation', handler as never)
  }
  const sessions = new Http2Sessions(http2, { limits, connections, bodies })
  try {
    await startListening(server, { host, port })
  } catch (error) {
    answers.stop()
    parts.unfollow()
    throw error
  }

  const actual = (server.address() as AddressInfo).port
  const close = async (grace: number): Promise<void> => {
    answers.close()
    parts.unfollow()
    const closed = once(server, 'close')
    // Closing the server itself would end connections and sessions with what is on its way on them.
    await afterPoll()
    NetServer.prototype.close.call(server)
    sessions.close()
    connections.closeQuiet()
    // Connections that become quiet later.
    const quiet = setInterval(() => void afterPoll().then(() => connections.closeQuiet()), CLOSE_QUIET_EVERY)
    const cut = setTimeout(() => {
      sessions.destroy()
      connections.destroy()
    }, grace)
    await closed
    clearInterval(quiet)
    clearTimeout(cut)
    answers.stop()
    // Now only its timer is left.
    server.close()
  }
  let closed: Promise<void> | undefined
  return {
    port: actual,
    url: `${tls === null ? 'http' : 'https'}://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`,
    connections: () => connections.size,
    drain: () => {
      answers.close()
      sessions.drain()
    },
    close: (grace) => {
      closed ??= close(grace)
      return closed
    },
  }
}

interface Parts {
  /** The one that listens. */
  readonly server: AnyServer
  /** The one that has the HTTP/2 sessions. */
  readonly http2: Http2Server | Http2SecureServer
  readonly unfollow: () => void
}

function cleartextServer(limits: Limits, connections: Connections, bodies: BodyBudget): Parts {
  // The HTTP/1.1 server listens itself, because only a server that listens watches its time limits. Its own handler of
  // connections is called for those that are not HTTP/2.
  const http1 = createServer({ ...http1Options(limits), IncomingMessage: bodies.countedMessages() })
  const http2 = createHttp2Server(http2Options(limits))
  admit(http1, connections, (socket, accept) => {
    switchProtocol(socket, limits.headTimeout, {
      http1: accept,
      http2: () => {
        // The HTTP/1.1 server accepts connections half-open, and an HTTP/2 session would not notice that its client left.
        socket.allowHalfOpen = false
        http2.emit('connection', socket)
      },
    })
  })
  return { server: http1, http2, unfollow: () => {} }
}

async function secureServer(
  { limits, log }: ListenOptions,
  files: TlsFiles,
  { connections, bodies }: { readonly connections: Connections; readonly bodies: BodyBudget },
): Promise<Parts> {
  const initial = await readCertificate(files)
  const server = createSecureServer({
    ...http2Options(limits),
    ...http1Options(limits),
    ...initial,
    // Clients without a certificate of that authority do not get as far as a request.
    requestCert: files.clientCaFile !== null,
    rejectUnauthorized: true,
    allowHTTP1: true,
    Http1IncomingMessage: bodies.countedMessages(),
    handshakeTimeout: limits.headTimeout,
  } as Parameters<typeof createSecureServer>[0])
  admit(server, connections, (_socket, accept) => accept())
  const authorities = new ClientAuthorities(server, authoritiesIn(initial.ca), limits.headTimeout)
  const unfollow = followCertificate(files, log, (certificate) => {
    server.setSecureContext(certificate)
    authorities.replace(authoritiesIn(certificate.ca))
  })
  return { server, http2: server, unfollow }
}

/** Puts the limit of connections, and what `next` does, before what a server does with a new connection. */
function admit(server: AnyServer, connections: Connections, next: (socket: Socket, accept: () => void) => void): void {
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
    connectionsCheckingInterval: limits.checkEvery,
    maxHeaderSize: limits.maxHeadBytes,
    // The router refuses requests without it, in the form of all other errors.
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

function isTooLong(req: AnyRequest, limits: Limits): boolean {
  return 'stream' in req && isHeadTooLong(req, limits)
}

/** Resolves when everything that clients had sent by now has been read: the event loop polls before its check phase. */
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
