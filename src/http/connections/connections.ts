/**
 * The open connections of a server, of all protocols, and which of them has to give way when there are too many.
 *
 * Strangers can open as many connections as there may be and say nothing on them. So a new connection takes the place of
 * the one that has been waiting longest without the server owing it an answer, if there is one.
 */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, Http2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { Queue, Queued } from './queue.ts'

/** Where sockets and sessions have their connection. A `WeakMap` would have to make a hash for each request. */
const CONNECTION = Symbol('connection')

/** How long a new connection may take to ask for something while the server stops, in milliseconds. */
const TIME_TO_ASK = 1_000

/** A socket, of TCP or TLS, or an HTTP/2 session. */
type Known = object & { [CONNECTION]?: Connection }

class Connection extends Queued {
  readonly peer: string
  /** The TCP connection, also below TLS. */
  readonly socket: Socket
  session: Http2Session | null = null
  /** Requests that had not come to their end when they were last looked at. */
  readonly asking = new Queue<Exchange>()
  /** Requests that have come and are not answered. */
  readonly answering = new Queue<Exchange>()
  answered = false
  readonly since = performance.now()
  /** Whether it is the one that its address pair stands for now. */
  open = true

  constructor(peer: string, socket: Socket) {
    super()
    this.peer = peer
    this.socket = socket
  }
}

/** A request that has begun and has not been answered. */
class Exchange extends Queued {
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
  readonly #neverAsked = new Queue<Connection>()
  readonly #idle = new Queue<Connection>()
  /** Also those whose requests have come since they were last looked at: that is found out when it matters. */
  readonly #stillAsking = new Queue<Connection>()

  /** @param max At the same time. */
  constructor(max: number) {
    this.#max = max
  }

  /** How many are open. */
  get size(): number {
    return this.#all.size
  }

  /** Takes a new TCP connection, or closes it if all others are waited for. */
  add(socket: Socket): void {
    const peer = peerOf(socket)
    const before = this.#all.get(peer ?? '')
    if (before !== undefined) {
      // Its client has reset it and come again from the same port, and its socket only does not know yet.
      this.#remove(before)
      before.socket.destroy()
    }
    // Without an address it is gone already.
    if (peer === undefined || (this.#all.size >= this.#max && !this.#makeRoom())) {
      socket.destroy()
      return
    }
    const connection = new Connection(peer, socket)
    this.#all.set(peer, connection)
    know(socket, connection)
    this.#sort(connection)
    socket.once('close', () => this.#remove(connection))
  }

  /** From now on the connection is an HTTP/2 session. Must come before its requests. @returns The TCP connection. */
  adopt(session: Http2Session): Socket | undefined {
    const connection = this.#find(session.socket)
    if (connection === undefined) return undefined
    know(session, connection)
    connection.session = session
    return connection.socket
  }

  /** Whether an answer is owed on a connection. */
  isAnswering(socket: object): boolean {
    const connection = known(socket)
    return connection !== undefined && this.#owesAnswer(connection)
  }

  /** A request has begun. @returns Undefined if its connection is gone. */
  begin(req: IncomingMessage | Http2ServerRequest): Exchange | undefined {
    const connection = 'stream' in req ? known(req.stream.session) : this.#find(req.socket)
    if (connection === undefined) return undefined
    const exchange = new Exchange(connection, req)
    connection.asking.add(exchange)
    this.#sort(connection)
    return exchange
  }

  /** It has been answered, or will never be. */
  ended(exchange: Exchange): void {
    const { connection } = exchange
    exchange.leave()
    connection.answered = true
    // It begins to wait anew, even if it waited for the rest of another request all the time.
    connection.leave()
    this.#sort(connection)
  }

  /**
   * Closes connections that are not in the middle of anything, also those with half a head of a request. New ones get the time
   * to ask. HTTP/2 sessions are left out: they can be told to go.
   */
  closeQuiet(): void {
    for (const { socket, session } of this.#idle) if (session === null) socket.destroy()
    const now = performance.now()
    for (const { socket, session, since } of this.#neverAsked) {
      if (session === null && now - since > TIME_TO_ASK) socket.destroy()
    }
  }

  /** Ends all connections as they are. */
  destroy(): void {
    for (const { socket } of this.#all.values()) socket.destroy()
  }

  #makeRoom(): boolean {
    const connection = this.#neverAsked.first ?? this.#idle.first ?? this.#firstStillAsking()
    if (connection === undefined) return false
    this.#remove(connection)
    closeConnection(connection.socket, connection.session)
    return true
  }

  #firstStillAsking(): Connection | undefined {
    for (const connection of this.#stillAsking) if (!this.#owesAnswer(connection)) return connection
    return undefined
  }

  /**
   * Looks which of the requests that were still coming are here. Each is found here once, so however many connections
   * want to be taken, they pay for it together only once.
   */
  #owesAnswer(connection: Connection): boolean {
    for (const exchange of connection.asking) if (isWhole(exchange.req)) connection.answering.add(exchange)
    this.#sort(connection)
    return connection.answering.first !== undefined
  }

  #remove(connection: Connection): void {
    if (!connection.open) return
    connection.open = false
    this.#all.delete(connection.peer)
    connection.leave()
  }

  #sort(connection: Connection): void {
    const queue = this.#queueOf(connection)
    if (queue === connection.queue) return
    if (queue === null) connection.leave()
    else queue.add(connection)
  }

  /** Where a connection waits for its turn to give way; null if it is waited for, or gone. */
  #queueOf({ open, asking, answering, answered }: Connection): Queue<Connection> | null {
    if (!open || answering.first !== undefined) return null
    if (asking.first !== undefined) return this.#stillAsking
    return answered ? this.#idle : this.#neverAsked
  }

  /**
   * A TLS connection is another object than the TCP connection below it, and the socket of a session is another one again.
   * What they have in common are the addresses of both ends.
   */
  #find(socket: Socket): Connection | undefined {
    const connection = known(socket)
    if (connection !== undefined) return connection
    const found = this.#all.get(peerOf(socket) ?? '')
    if (found !== undefined) know(socket, found)
    return found
  }
}

/** Closes a connection, telling an HTTP/2 client which of its requests were not looked at (RFC 9113 §6.8). */
export function closeConnection(socket: Socket, session: Http2Session | null): void {
  if (session === null) {
    socket.destroy()
    return
  }
  session.destroy()
  // A session waits until its client has taken what was sent. This one has had its time.
  setImmediate(() => socket.destroy())
}

/** Whether all of a request is here, also if nobody has read it. */
export function isWhole(req: IncomingMessage | Http2ServerRequest | ServerHttp2Stream): boolean {
  // HTTP/2 requests call themselves complete only when they have been read.
  if ('stream' in req) return isWhole(req.stream)
  return 'session' in req ? req.state.remoteClose === 1 : req.complete
}

function know(object: Known, connection: Connection): void {
  object[CONNECTION] = connection
}

function known(object: Known | undefined): Connection | undefined {
  return object?.[CONNECTION]
}

function peerOf({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
