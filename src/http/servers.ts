/**
 * The servers of one port: HTTP/1.1 and HTTP/2, in cleartext or with TLS, with the limits that Node enforces.
 *
 * `listener.ts` has what they do with requests.
 */
import { constants } from 'node:crypto'
import { createServer, type Server, type ServerOptions } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerOptions as Http2ServerOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Connections } from './connections/connections.ts'
import type { Limits } from './connections/limits.ts'
import type { ListenOptions } from './listener.ts'
import { authoritiesIn, type Certificate, readCertificate, type TlsFiles, watchCertificate } from './tls/tls-files.ts'

/**
 * For connections whose certificates count. Sessions are not resumed, because a resumed one has lost the certificates that came with that
 * of the client; and the certificate of a connection does not change. No authorities are named to clients, which then present what they
 * have.
 */
const ASKING = { ca: [], secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION }

/** With prior knowledge (RFC 9113 §3.3). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

export interface Servers {
  readonly server: Server | Http2SecureServer
  readonly http2: Http2Server | Http2SecureServer
  readonly unwatch: () => void
}

/** Makes the servers of a port, which do not listen yet. @throws {Error} if the certificate cannot be used. */
export async function createServers(options: ListenOptions, connections: Connections): Promise<Servers> {
  const { tls, limits } = options
  const servers = tls === null ? cleartextServers(limits, connections) : await secureServer(options, tls, connections)
  const server = servers.server as Server
  server.prependListener('connection', (socket) => connections.accept(socket))
  servers.http2.on('session', (session) => connections.addSession(session, limits.idleTimeout))
  server.maxConnections = limits.maxConnections
  server.headersTimeout = limits.headTimeout
  server.requestTimeout = limits.requestTimeout
  server.keepAliveTimeout = limits.keepAliveTimeout
  server.timeout = limits.idleTimeout
  return servers
}

function cleartextServers(limits: Limits, connections: Connections): Servers {
  // The HTTP/1.1 server has the port, because Node enforces timeouts only in a listening server.
  const http1 = createServer(http1Options(limits))
  const http2 = createHttp2Server(http2Options(limits))
  const accepting = http1.listeners('connection') as ((socket: Socket) => void)[]
  http1.removeAllListeners('connection')
  http1.on('connection', (socket) => {
    connections.add(socket)
    switchProtocol(socket, limits.headTimeout, {
      http1: () => {
        for (const accept of accepting) accept.call(http1, socket)
      },
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
  connections: Connections,
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
    handshakeTimeout: limits.headTimeout,
  } as Parameters<typeof createSecureServer>[0])
  server.prependListener('secureConnection', (socket) => connections.add(socket))
  let trusted = authoritiesIn(initial.ca)
  const unwatch = watchCertificate(files, log, (certificate) => {
    server.setSecureContext(contextOf(certificate))
    const now = authoritiesIn(certificate.ca)
    // The handshake checked certificates once, so clients have to connect again, also those in a handshake.
    if ([...trusted].some((fingerprint) => !now.has(fingerprint))) connections.destroy()
    trusted = now
  })
  return { server, http2: server, unwatch }
}

/**
 * Reads the first bytes of a cleartext connection, puts them back and passes it to one of the handlers.
 *
 * @param timeout How long the client may take to send enough bytes, in milliseconds.
 */
function switchProtocol(
  socket: Socket,
  timeout: number,
  handlers: Readonly<Record<'http1' | 'http2', (socket: Socket) => void>>,
): void {
  let received = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), timeout)

  const stop = () => {
    clearTimeout(timer)
    socket.off('readable', read)
    socket.off('error', stop)
    socket.off('close', stop)
    socket.off('end', close)
  }
  // The server accepts half-open connections, so one that ends before its protocol is known must be closed here.
  const close = () => socket.destroy()
  const read = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      received = Buffer.concat([received, chunk])
    }
    const compared = Math.min(received.length, PREFACE.length)
    const mayBeHttp2 = received.subarray(0, compared).equals(PREFACE.subarray(0, compared))
    if (mayBeHttp2 && compared < PREFACE.length && !socket.readableEnded) return

    stop()
    socket.unshift(received)
    handlers[mayBeHttp2 ? 'http2' : 'http1'](socket)
  }
  socket.on('readable', read)
  socket.on('error', stop)
  socket.on('close', stop)
  socket.on('end', close)
}

function http1Options(limits: Limits): ServerOptions {
  return {
    connectionsCheckingInterval: limits.checkInterval,
    maxHeaderSize: limits.maxHeadBytes,
    keepAlive: true,
    keepAliveInitialDelay: limits.keepAliveTimeout,
  }
}

/** Node's own limits of SETTINGS entries, CONTINUATION frames and unread acknowledgements stay in force. */
function http2Options(limits: Limits): Http2ServerOptions {
  return {
    // In megabytes.
    maxSessionMemory: 4,
    // After so many a connection is closed.
    maxSessionInvalidFrames: 20,
    maxSessionRejectedStreams: 20,
    // A connection is closed after a burst of 200 stream resets, refilled by 33 a second (rapid reset).
    streamResetBurst: 200,
    streamResetRate: 33,
    settings: {
      enablePush: false,
      maxConcurrentStreams: limits.maxStreams,
      maxHeaderListSize: limits.maxHeadBytes,
    },
  }
}
