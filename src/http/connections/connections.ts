/**
 * The open connections of a server, over all protocols, and their eviction at the limit.
 *
 * A client can open as many connections as the limit allows and send nothing. So a new connection evicts the one that has waited
 * longest for its client: before its first request, between two requests, or in the middle of one. A connection with a complete
 * request that has not been answered is never evicted.
 */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, Http2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { LinkedList, ListItem } from './linked-list.ts'

/** Property of sockets and sessions with their connection. A `WeakMap` would hash the socket for each request. */
const CONNECTION = Symbol('connection')

/** How long a new connection may take to send a request while the server stops, in milliseconds. */
const FIRST_REQUEST_GRACE = 1_000

/** A socket, of TCP or TLS, or an HTTP/2 session. */
type Transport = object & { [CONNECTION]?: Connection }

class Connection extends ListItem {
  readonly addressPair: string
  /** The TCP connection, also below TLS. */
  readonly socket: Socket
  session: Http2Session | null = null
  /** Requests that were incomplete when they were last looked at. */
  readonly receiving = new LinkedList<Exchange>()
  /** Complete requests that are not answered. */
  readonly responding = new LinkedList<Exchange>()
  hasAnswered = false
  readonly openedAt = performance.now()
  /** False once it is removed, although its socket may close later. */
  open = true

  constructor(addressPair: string, socket: Socket) {
    super()
    this.addressPair = addressPair
    this.socket = socket
  }
}

/** A request that has begun and is not answered. */
class Exchange extends ListItem {
  readonly connection: Connection
  readonly req: IncomingMessage | Http2ServerRequest

  constructor(connection: Connection, req: IncomingMessage | Http2ServerRequest) {
    super()
    this.connection = connection
    this.req = req
  }
}

export class Connections {
  readonly #max: number
  readonly #all = new Map<string, Connection>()
  // The three lists of connections that can be evicted, each with the longest wait first.
  readonly #unused = new LinkedList<Connection>()
  readonly #idle = new LinkedList<Connection>()
  /** Some of their requests may be complete by now, which is checked before an eviction. */
  readonly #receiving = new LinkedList<Connection>()

  /** @param max At the same time. */
  constructor(max: number) {
    this.#max = max
  }

  /** How many are open. */
  get size(): number {
    return this.#all.size
  }

  /** Takes a new TCP connection. At the limit it evicts another one, or is closed if none can be evicted. */
  add(socket: Socket): void {
    const addressPair = addressPairOf(socket)
    const before = this.#all.get(addressPair ?? '')
    if (before !== undefined) {
      // The client reset it and connected again from the same port before its socket emitted `close`.
      this.#remove(before)
      before.socket.destroy()
    }
    // A socket without an address is closed already.
    if (addressPair === undefined || (this.#all.size >= this.#max && !this.#evict())) {
      socket.destroy()
      return
    }
    const connection = new Connection(addressPair, socket)
    this.#all.set(addressPair, connection)
    attach(socket, connection)
    this.#classify(connection)
    socket.once('close', () => this.#remove(connection))
  }

  /** Makes a connection an HTTP/2 session. Call it before the session's first request. @returns The TCP connection. */
  addSession(session: Http2Session): Socket | undefined {
    const connection = this.#find(session.socket)
    if (connection === undefined) return undefined
    attach(session, connection)
    connection.session = session
    return connection.socket
  }

  /** The TCP connection below a TLS socket. */
  socketOf(socket: Socket): Socket | undefined {
    return this.#find(socket)?.socket
  }

  /** Whether a complete request of a connection is not answered. */
  isResponding(socket: object): boolean {
    const connection = connectionOf(socket)
    return connection !== undefined && this.#isResponding(connection)
  }

  /** A request has begun. @returns Undefined if its connection is gone. */
  begin(req: IncomingMessage | Http2ServerRequest): Exchange | undefined {
    const connection = 'stream' in req ? connectionOf(req.stream.session) : this.#find(req.socket)
    if (connection === undefined) return undefined
    const exchange = new Exchange(connection, req)
    connection.receiving.append(exchange)
    this.#classify(connection)
    return exchange
  }

  /** A request has been answered, or its client has left. */
  end(exchange: Exchange): void {
    const { connection } = exchange
    exchange.unlink()
    connection.hasAnswered = true
    // Its wait begins anew, even if another of its requests has been incomplete all the time.
    connection.unlink()
    this.#classify(connection)
  }

  /**
   * Closes the idle connections of HTTP/1.1, also those with half a request head. A new connection may send its first request within
   * a second. HTTP/2 sessions are closed with GOAWAY instead.
   */
  closeIdle(): void {
    for (const { socket, session } of this.#idle) if (session === null) socket.destroy()
    const now = performance.now()
    for (const { socket, session, openedAt } of this.#unused) {
      if (session === null && now - openedAt > FIRST_REQUEST_GRACE) socket.destroy()
    }
  }

  /** Closes all connections at once. */
  destroy(): void {
    for (const { socket } of this.#all.values()) socket.destroy()
  }

  /** @returns Whether a connection could be evicted. */
  #evict(): boolean {
    const connection = this.#unused.first ?? this.#idle.first ?? this.#firstStillReceiving()
    if (connection === undefined) return false
    this.#remove(connection)
    closeConnection(connection.socket, connection.session)
    return true
  }

  #firstStillReceiving(): Connection | undefined {
    for (const connection of this.#receiving) if (!this.#isResponding(connection)) return connection
    return undefined
  }

  /** Moves requests that are complete now. Each is moved once, so a flood of new connections pays for it only once. */
  #isResponding(connection: Connection): boolean {
    for (const exchange of connection.receiving) if (isComplete(exchange.req)) connection.responding.append(exchange)
    this.#classify(connection)
    return connection.responding.first !== undefined
  }

  #remove(connection: Connection): void {
    if (!connection.open) return
    connection.open = false
    this.#all.delete(connection.addressPair)
    connection.unlink()
  }

  #classify(connection: Connection): void {
    const list = this.#listFor(connection)
    if (list === connection.list) return
    if (list === null) connection.unlink()
    else list.append(connection)
  }

  /** Null if the connection must not be evicted, or is gone. */
  #listFor({ open, receiving, responding, hasAnswered }: Connection): LinkedList<Connection> | null {
    if (!open || responding.first !== undefined) return null
    if (receiving.first !== undefined) return this.#receiving
    return hasAnswered ? this.#idle : this.#unused
  }

  /**
   * A TLS socket is another object than the TCP socket below it, and the socket of a session is a third one. All of them have the
   * same pair of addresses.
   */
  #find(socket: Socket): Connection | undefined {
    const connection = connectionOf(socket)
    if (connection !== undefined) return connection
    const found = this.#all.get(addressPairOf(socket) ?? '')
    if (found !== undefined) attach(socket, found)
    return found
  }
}

/** Closes a connection. An HTTP/2 client learns which of its requests were not processed (RFC 9113 §6.8). */
export function closeConnection(socket: Socket, session: Http2Session | null): void {
  if (session === null) {
    socket.destroy()
    return
  }
  session.destroy()
  // The session alone would wait until its client has read everything.
  setImmediate(() => socket.destroy())
}

/** Whether all of a request has been received, read or not. */
export function isComplete(req: IncomingMessage | Http2ServerRequest | ServerHttp2Stream): boolean {
  // `complete` of an HTTP/2 request is false until it has been read.
  if ('stream' in req) return isComplete(req.stream)
  return 'session' in req ? req.state.remoteClose === 1 : req.complete
}

function attach(transport: Transport, connection: Connection): void {
  transport[CONNECTION] = connection
}

function connectionOf(transport: Transport | undefined): Connection | undefined {
  return transport?.[CONNECTION]
}

function addressPairOf({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
