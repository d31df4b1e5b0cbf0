/** The open connections of a server, over all protocols: which ones have requests in flight, and graceful shutdown. */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'

/** Property of sockets and sessions with their connection. A `WeakMap` would hash the socket for each request. */
const CONNECTION = Symbol('connection')

/** How long a new connection may take to send a request while the server stops, and an HTTP/2 client to close after GOAWAY, in milliseconds. */
const STOP_TIMEOUT = 1_000

/**
 * The first GOAWAY of a graceful shutdown: with the highest stream id, so that no stream is refused yet (RFC 9113 §6.8). Node's own
 * `goaway` refuses every new stream, so this one is written to the socket directly; Node writes whole frames.
 */
const SHUTDOWN_NOTICE = Buffer.from('000008' + '07' + '00' + '00000000' + '7fffffff' + '00000000', 'hex')

/** A socket, of TCP or TLS, or an HTTP/2 session. */
type Transport = object & { [CONNECTION]?: Connection }

/** A connection that speaks HTTP. */
export interface Connection {
  /** Of TLS, if that is there. */
  readonly socket: Socket
  session: ServerHttp2Session | null
  /** Since then it may be closed for being idle while the server stops, in milliseconds of `performance.now()`. */
  idleFrom: number
  isNotified: boolean
  requestsInFlight: number
}

export class Connections {
  /** Of TCP, also below TLS. */
  readonly #sockets = new Set<Socket>()
  readonly #open = new Set<Connection>()
  #isDraining = false

  get size(): number {
    return this.#sockets.size
  }

  /** Whether clients are asked to connect elsewhere. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Takes a new TCP connection. */
  accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Takes a socket on which HTTP is spoken from now on. */
  add(socket: Socket & Transport): void {
    const idleFrom = performance.now() + STOP_TIMEOUT
    const connection = { socket, session: null, idleFrom, isNotified: false, requestsInFlight: 0 }
    this.#open.add(connection)
    socket[CONNECTION] = connection
    socket.once('close', () => this.#open.delete(connection))
  }

  /** Makes the connection of its socket an HTTP/2 session. @param idleTimeout Without any traffic, in milliseconds. */
  addSession(session: ServerHttp2Session & Transport, idleTimeout: number): void {
    const connection = (session.socket as Transport)[CONNECTION]
    if (connection === undefined) return
    session[CONNECTION] = connection
    connection.session = session
    // Over TLS Node adds one of its own, which also closes sessions with requests in flight.
    session.removeAllListeners('timeout')
    // A session calls back once.
    const check = (): void => {
      if (connection.requestsInFlight === 0) close(connection)
      else session.setTimeout(idleTimeout, check)
    }
    session.setTimeout(idleTimeout, check)
  }

  /** A request has begun. @returns Its connection, for `end`. */
  begin(req: IncomingMessage | Http2ServerRequest): Connection | undefined {
    const transport: Transport | undefined = 'stream' in req ? req.stream.session : req.socket
    const connection = transport?.[CONNECTION]
    if (connection === undefined) return undefined
    connection.requestsInFlight += 1
    if (this.#isDraining) notify(connection)
    return connection
  }

  /** A request has been answered, or its client has left. */
  end(connection: Connection | undefined): void {
    if (connection !== undefined) connection.requestsInFlight -= 1
  }

  /** Asks HTTP/2 clients to connect elsewhere, and goes on serving them. New ones are asked with their first request: otherwise they would only reconnect at once. */
  drain(): void {
    this.#isDraining = true
    for (const connection of this.#open) notify(connection)
  }

  /** Closes HTTP/2 sessions gracefully: streams that were opened before the final GOAWAY are answered. */
  closeSessions(): void {
    this.drain()
    for (const connection of this.#open) {
      const { session, isNotified } = connection
      if (session === null || session.destroyed || session.closed) continue
      connection.idleFrom = performance.now() + STOP_TIMEOUT
      // Streams that the client opened before it read the first GOAWAY arrive before its answer to the ping.
      if (!isNotified || !session.ping(() => session.close())) session.close()
    }
  }

  /** Closes the connections without a request in flight, also those with half a request head. New ones have some time for their first request. */
  closeIdle(): void {
    const now = performance.now()
    for (const connection of this.#open) {
      if (connection.requestsInFlight === 0 && now > connection.idleFrom) close(connection)
    }
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** An HTTP/2 client learns which of its requests were not processed (RFC 9113 §6.8). */
function close({ socket, session }: Connection): void {
  session?.destroy()
  // The session alone would wait until its client has read everything.
  setImmediate(() => socket.destroy())
}

/** Sends the first GOAWAY. */
function notify(connection: Connection): void {
  const { session, socket, isNotified } = connection
  // A TLS socket of Node takes one write at a time, and writes of the session bypass it.
  if (session === null || isNotified || session.encrypted || !socket.writable) return
  connection.isNotified = true
  socket.write(SHUTDOWN_NOTICE)
}
