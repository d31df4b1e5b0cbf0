/**
 * The open connections of a server, over all protocols: which ones have requests in flight, eviction at the limit, and graceful shutdown.
 *
 * A new connection at the limit evicts the oldest one without a request in flight, so that connections that send nothing, or a head byte by
 * byte, keep nobody out.
 */
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

/** An open connection. */
export interface Connection {
  /** Of TCP, also below TLS. */
  readonly socket: Socket
  session: ServerHttp2Session | null
  /** Since then it may be closed for being idle while the server stops, in milliseconds of `performance.now()`. */
  idleFrom: number
  hasRequested: boolean
  isNotified: boolean
  requestsInFlight: number
}

export class Connections {
  readonly #max: number
  /** By the addresses of both ends, oldest first. */
  readonly #open = new Map<string, Connection>()
  #isDraining = false

  /** @param max At the same time. */
  constructor(max: number) {
    this.#max = max
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size
  }

  /** Whether clients are asked to connect elsewhere. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Takes a new TCP connection. At the limit it evicts another one, or is closed if all others have requests in flight. */
  add(socket: Socket): void {
    const addresses = addressesOf(socket)
    // A client that resets a connection can connect from the same port before its socket emitted `close`.
    this.#open.get(addresses)?.socket.destroy()
    this.#open.delete(addresses)
    const connection: Connection = {
      socket,
      session: null,
      idleFrom: performance.now() + STOP_TIMEOUT,
      hasRequested: false,
      isNotified: false,
      requestsInFlight: 0,
    }
    this.#open.set(addresses, connection)
    attach(socket, connection)
    socket.once('close', () => {
      if (this.#open.get(addresses) === connection) this.#open.delete(addresses)
    })
    if (this.#open.size > this.#max) this.#evictFor(connection)
  }

  /** Finds the connection of a TLS socket, which is another object than the TCP socket below it. */
  addSecure(socket: Socket): void {
    const connection = this.#open.get(addressesOf(socket))
    if (connection === undefined) socket.destroy()
    else attach(socket, connection)
  }

  /** Makes the connection of a socket an HTTP/2 session. @param idleTimeout Without any traffic, in milliseconds. */
  addSession(session: ServerHttp2Session, socket: Transport, idleTimeout: number): void {
    const connection = socket[CONNECTION]
    if (connection === undefined) return
    attach(session, connection)
    connection.session = session
    session.setTimeout(idleTimeout, () => {
      if (connection.requestsInFlight === 0) close(connection)
    })
  }

  /** A request has begun. @returns Its connection, for `end`. */
  begin(req: IncomingMessage | Http2ServerRequest): Connection | undefined {
    const transport: Transport | undefined = 'stream' in req ? req.stream.session : req.socket
    const connection = transport?.[CONNECTION]
    if (connection === undefined) return undefined
    connection.requestsInFlight += 1
    connection.hasRequested = true
    if (this.#isDraining) notify(connection)
    return connection
  }

  /** A request has been answered, or its client has left. */
  end(connection: Connection | undefined): void {
    if (connection !== undefined) connection.requestsInFlight -= 1
  }

  /** Asks HTTP/2 clients to connect elsewhere, and goes on serving them. */
  drain(): void {
    this.#isDraining = true
    for (const connection of this.#open.values()) notify(connection)
  }

  /** Closes HTTP/2 sessions gracefully: streams that were opened before the final GOAWAY are answered. */
  closeSessions(): void {
    this.drain()
    for (const connection of this.#open.values()) {
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
    for (const connection of this.#open.values()) {
      const { session, hasRequested, idleFrom, requestsInFlight } = connection
      const isIdle = (session === null && hasRequested) || now > idleFrom
      if (requestsInFlight === 0 && isIdle) close(connection)
    }
  }

  /** Closes all connections at once. */
  destroy(): void {
    for (const { socket } of this.#open.values()) socket.destroy()
  }

  #evictFor(newest: Connection): void {
    for (const [addresses, connection] of this.#open) {
      if (connection.requestsInFlight > 0) continue
      this.#open.delete(addresses)
      if (connection === newest) connection.socket.destroy()
      else close(connection)
      return
    }
  }
}

/** An HTTP/2 client learns which of its requests were not processed (RFC 9113 §6.8). */
function close({ socket, session }: Connection): void {
  session?.destroy()
  // The session alone would wait until its client has read everything.
  setImmediate(() => socket.destroy())
}

/** Sends the first GOAWAY. A client without a request yet would only reconnect at once. */
function notify(connection: Connection): void {
  const { session, socket, hasRequested, isNotified } = connection
  // A TLS socket of Node takes one write at a time, and writes of the session bypass it.
  if (session === null || !hasRequested || isNotified || session.encrypted || !socket.writable) return
  connection.isNotified = true
  socket.write(SHUTDOWN_NOTICE)
}

function attach(transport: Transport, connection: Connection): void {
  transport[CONNECTION] = connection
}

function addressesOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
