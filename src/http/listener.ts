/**
 * One port for HTTP/1.1 and HTTP/2, in cleartext or with TLS, within limits.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, createSecureServer, type Http2SecureServer } from 'node:http2'
import { type AddressInfo, isIP, type Socket } from 'node:net'
import type { Log } from '../domain/ports.ts'
import type { Handler } from './exchange.ts'
import { Http2Sessions, http2Options } from './http2-sessions.ts'
import type { Limits } from './limits.ts'
import { switchProtocol } from './protocol-switch.ts'
import { trackQuietConnections } from './quiet-connections.ts'
import { followCertificate, readCertificate, type TlsFiles } from './tls-files.ts'

/** How often connections that have become idle are closed while the server stops, in milliseconds. */
const CLOSE_IDLE_EVERY = 50

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
   * Takes no more connections, finishes what is in flight, and ends when all connections have.
   *
   * @param grace After so many milliseconds the rest is cut off.
   */
  close(grace: number): Promise<void>
}

type AnyServer = Server | Http2SecureServer

/** @throws {Error} that says what to do, if the address cannot be listened on or the certificate cannot be used. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, tls } = options
  let closing = false
  const answering = new Set<ServerResponse>()
  const handler = (req: IncomingMessage, res: ServerResponse): void => {
    if (req.httpVersionMajor === 1) {
      if (closing) res.setHeader('connection', 'close')
      answering.add(res)
      res.once('close', () => answering.delete(res))
    }
    // The router answers failures itself; nothing is left to be caught.
    void options.handler(req, res)
  }

  const { server, sessions, stop } =
    tls === null ? cleartextServer(options, handler) : await secureServer(options, tls, handler)
  const sockets = trackSockets(server)
  server.maxConnections = options.limits.maxConnections
  await startListening(server, { host, port })

  const actual = (server.address() as AddressInfo).port
  const close = async (grace: number): Promise<void> => {
    closing = true
    for (const res of answering) if (!res.headersSent) res.setHeader('connection', 'close')
    stop()
    const closed = once(server, 'close')
    server.close()
    sessions.close()
    const idle = setInterval(() => closeIdle(server), CLOSE_IDLE_EVERY)
    const cut = setTimeout(() => {
      sessions.destroy()
      for (const socket of sockets) socket.destroy()
    }, grace)
    await closed
    clearInterval(idle)
    clearTimeout(cut)
  }
  let closed: Promise<void> | undefined
  return {
    port: actual,
    url: `${tls === null ? 'http' : 'https'}://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`,
    connections: () => sockets.size,
    close: (grace) => {
      closed ??= close(grace)
      return closed
    },
  }
}

interface Parts {
  readonly server: AnyServer
  readonly sessions: Http2Sessions
  /** Lets go of what is no request yet. */
  readonly stop: () => void
}

function cleartextServer(
  { limits }: ListenOptions,
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Parts {
  const http1 = createServer(
    { connectionsCheckingInterval: limits.checkEvery, maxHeaderSize: limits.maxHeadBytes },
    handler,
  )
  setHttp1Limits(http1, limits)
  const http2 = createHttp2Server(http2Options(limits))
  http2.on('request', handler as never)

  // The HTTP/1.1 server listens itself, because only a server that listens watches its time limits. Its own handler of
  // connections is called for those that are not HTTP/2.
  const undecided = new Set<Socket>()
  const accept = http1.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  http1.removeAllListeners('connection')
  http1.on('connection', (socket: Socket) => {
    undecided.add(socket)
    socket.once('close', () => undecided.delete(socket))
    switchProtocol(socket, limits.headTimeout, {
      http1: () => {
        undecided.delete(socket)
        for (const listener of accept) listener.call(http1, socket)
      },
      http2: () => {
        undecided.delete(socket)
        // The HTTP/1.1 server accepts connections half-open, and an HTTP/2 session would not notice that its client left.
        socket.allowHalfOpen = false
        http2.emit('connection', socket)
      },
    })
  })
  const stop = (): void => {
    for (const socket of undecided) socket.destroy()
  }
  return { server: http1, sessions: new Http2Sessions(http2, limits), stop }
}

async function secureServer(
  { limits, log }: ListenOptions,
  files: TlsFiles,
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Promise<Parts> {
  const server = createSecureServer({
    ...http2Options(limits),
    ...(await readCertificate(files)),
    allowHTTP1: true,
    handshakeTimeout: limits.headTimeout,
    connectionsCheckingInterval: limits.checkEvery,
    maxHeaderSize: limits.maxHeadBytes,
  } as Parameters<typeof createSecureServer>[0])
  setHttp1Limits(server as unknown as Server, limits)
  server.on('request', handler as never)
  const unfollow = followCertificate(files, log, (certificate) => server.setSecureContext(certificate))
  const closeQuiet = trackQuietConnections(server)
  const stop = (): void => {
    unfollow()
    closeQuiet()
  }
  return { server, sessions: new Http2Sessions(server, limits), stop }
}

function setHttp1Limits(server: Server, limits: Limits): void {
  server.headersTimeout = limits.headTimeout
  server.requestTimeout = limits.requestTimeout
  server.keepAliveTimeout = limits.keepAliveTimeout
  server.timeout = limits.idleTimeout
}

function trackSockets(server: AnyServer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  server.prependListener('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

function closeIdle(server: AnyServer): void {
  if ('closeIdleConnections' in server) server.closeIdleConnections()
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
