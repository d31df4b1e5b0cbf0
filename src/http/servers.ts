/**
 * The servers of one port: HTTP/1.1 and HTTP/2, in cleartext or with TLS, with the limits of connections.
 *
 * `listener.ts` has what they do with requests.
 */
import { constants } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerOptions } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Connections } from './connections/connections.ts'
import { http2Options } from './connections/http2-sessions.ts'
import type { Limits } from './connections/limits.ts'
import { switchProtocol } from './connections/protocol-switch.ts'
import type { ListenOptions } from './listener.ts'
import type { BodyBudget } from './requests/body-budget.ts'
import { ClientAuthorities } from './tls/client-authorities.ts'
import { HandshakeBudget } from './tls/handshake-budget.ts'
import { authoritiesIn, type Certificate, readCertificate, type TlsFiles, watchCertificate } from './tls/tls-files.ts'

/** A server that can have the port. */
export type AnyServer = Server | Http2SecureServer

/**
 * For connections whose certificates count. Sessions are not resumed, because a resumed one has lost the certificates that came with that
 * of the client; and the certificate of a connection does not change. No authorities are named to clients, which then present what they
 * have.
 */
const ASKING = { ca: [], secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION }

/** What the servers share with the rest of the listener. */
interface Shared {
  readonly connections: Connections
  readonly bodies: BodyBudget
}

/** The servers of a port. */
export interface Servers {
  /** Has the port. */
  readonly server: AnyServer
  /** Has the HTTP/2 sessions. */
  readonly http2: Http2Server | Http2SecureServer
  /** Stops watching the certificate files. */
  readonly unwatch: () => void
}

/** Makes the servers of a port, which apply the limits to connections. They do not listen yet. @throws {Error} if the certificate cannot be used. */
export async function createServers(options: ListenOptions, shared: Shared): Promise<Servers> {
  const { tls, limits } = options
  const servers = tls === null ? cleartextServer(limits, shared) : await secureServer(options, tls, shared)
  setHttp1Limits(servers.server as Server, limits)
  return servers
}

function cleartextServer(limits: Limits, { connections, bodies }: Shared): Servers {
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
  { connections, bodies }: Shared,
): Promise<Servers> {
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

/** @throws {Error} that says what to do, if the port cannot be opened. */
export async function startListening(server: AnyServer, address: { host: string; port: number }): Promise<void> {
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
