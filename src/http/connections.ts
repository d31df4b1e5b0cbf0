/**
 * The open connections of a server, of all protocols, and which of them has to give way when there are too many.
 *
 * Strangers can open as many connections as there may be and say nothing on them. So a new connection takes the place of
 * the one that has been waiting longest without the server owing it an answer, if there is one.
 */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, Http2Session } from 'node:http2'
import type { Socket } from 'node:net'

/** Why a connection is not waited for, in the order in which they give way. */
const WAITING = ['never asked', 'idle', 'still asking'] as const

type Waiting = (typeof WAITING)[number]

interface Connection {
  readonly peer: string
  /** The TCP connection, also below TLS. */
  readonly socket: Socket
  session: Http2Session | null
  /** Requests that have not come to their end. */
  asking: number
  /** Requests that have come and are not answered. */
  answering: number
  answered: boolean
  /** Null: it is waited for, or gone. */
  waiting: Waiting | null
}

/** A request that has begun. */
export interface Exchange {
  /** All of it is here, so the server owes an answer. */
  received(): void
  /** It has been answered, or will never be. */
  ended(): void
}

export class Connections {
  readonly #max: number
  readonly #all = new Map<string, Connection>()
  /** Each in the order in which they began to wait. */
  readonly #waiting: Record<Waiting, Set<Connection>> = {
    'never asked': new Set(),
    idle: new Set(),
    'still asking': new Set(),
  }
  /** What protocols know a connection by. */
  readonly #known = new WeakMap<object, Connection>()

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
    const nothing = { session: null, asking: 0, answering: 0, answered: false, waiting: null }
    const connection: Connection = { peer, socket, ...nothing }
    this.#all.set(peer, connection)
    this.#known.set(socket, connection)
    this.#sort(connection)
    socket.once('close', () => this.#remove(connection))
  }

  /** From now on the connection is an HTTP/2 session. @returns The TCP connection. */
  adopt(session: Http2Session): Socket | undefined {
    const connection = this.#find(session, session.socket)
    if (connection !== undefined) connection.session = session
    return connection?.socket
  }

  /** Whether an answer is owed on a connection. */
  isAnswering(socket: object): boolean {
    return (this.#known.get(socket)?.answering ?? 0) > 0
  }

  /** A request has begun. @param asking Whether there is more of it to come. */
  begin(req: IncomingMessage | Http2ServerRequest, asking: boolean): Exchange {
    const connection = this.#find(keyOf(req), req.socket)
    if (connection === undefined) return { received: () => {}, ended: () => {} }
    let counted: 'asking' | 'answering' | undefined
    const count = (next: 'asking' | 'answering' | undefined): void => {
      if (counted !== undefined) connection[counted] -= 1
      if (next !== undefined) connection[next] += 1
      counted = next
      this.#sort(connection)
    }
    count(asking ? 'asking' : 'answering')
    return {
      received: () => {
        if (counted === 'asking') count('answering')
      },
      ended: () => {
        connection.answered = true
        count(undefined)
      },
    }
  }

  /**
   * Closes connections that are not in the middle of anything, also those with half a head of a request. HTTP/2 sessions
   * are left out: they can be told to go.
   */
  closeQuiet(): void {
    for (const set of [this.#waiting['never asked'], this.#waiting.idle]) {
      for (const { socket, session } of set) if (session === null) socket.destroy()
    }
  }

  /** Ends all connections as they are. */
  destroy(): void {
    for (const { socket } of this.#all.values()) socket.destroy()
  }

  #makeRoom(): boolean {
    for (const waiting of WAITING) {
      for (const connection of this.#waiting[waiting]) {
        this.#remove(connection)
        closeConnection(connection.socket, connection.session)
        return true
      }
    }
    return false
  }

  #remove(connection: Connection): void {
    this.#moveTo(null, connection)
    if (this.#isOpen(connection)) this.#all.delete(connection.peer)
  }

  #sort(connection: Connection): void {
    const waiting = waitingOf(connection)
    if (waiting !== connection.waiting && this.#isOpen(connection)) this.#moveTo(waiting, connection)
  }

  /** Whether it is the one that its address pair stands for now. One that is gone must never wait again. */
  #isOpen(connection: Connection): boolean {
    return this.#all.get(connection.peer) === connection
  }

  #moveTo(waiting: Waiting | null, connection: Connection): void {
    if (connection.waiting !== null) this.#waiting[connection.waiting].delete(connection)
    connection.waiting = waiting
    if (waiting !== null) this.#waiting[waiting].add(connection)
  }

  /**
   * A TLS connection is another object than the TCP connection below it, and a session is another one again. What they
   * have in common are the addresses of both ends.
   */
  #find(key: object, addresses: Parameters<typeof peerOf>[0]): Connection | undefined {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const found = this.#all.get(peerOf(addresses) ?? '')
    if (found !== undefined) this.#known.set(key, found)
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

function waitingOf({ asking, answering, answered }: Connection): Waiting | null {
  if (answering > 0) return null
  if (asking > 0) return 'still asking'
  return answered ? 'idle' : 'never asked'
}

function keyOf(req: IncomingMessage | Http2ServerRequest): object {
  return 'stream' in req ? (req.stream.session ?? req.stream) : req.socket
}

function peerOf({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
