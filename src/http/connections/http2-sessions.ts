/**
 * The HTTP/2 side: what one client may do to a connection, how it is found out that the client has gone, and the end of
 * all sessions when the server stops.
 */
import { randomBytes } from 'node:crypto'
import type {
  Http2SecureServer,
  Http2Server,
  Http2ServerRequest,
  ServerHttp2Session,
  ServerHttp2Stream,
  ServerOptions,
} from 'node:http2'
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import type { BodyBudget } from '../requests/body-budget.ts'
import { type Connections, closeConnection } from './connections.ts'
import type { Limits } from './limits.ts'

/** The most that one connection may keep in memory, in megabytes. */
const MAX_SESSION_MEMORY = 4

/** Frames that break the protocol before the connection is closed. Node allows 1000. */
const MAX_INVALID_FRAMES = 20

/** Streams refused, because the connection has used up its memory, before it is closed. Node allows 100. */
const MAX_REJECTED_STREAMS = 20

/** Requests that a client may take back at once, and then for each second. Node allows 1000, with the same rate. */
const STREAM_RESETS = { streamResetBurst: 200, streamResetRate: 33 }

/** How long a client that has been told to go may take to close its end of the connection, in milliseconds. */
const LEAVE_TIMEOUT = 500

/**
 * A GOAWAY that refuses nothing: all streams that the client may still open count as served (RFC 9113 §6.8). Node can send one
 * only together with refusing every new stream, so it goes to the socket as it is; Node writes whole frames.
 */
const SHUTDOWN_NOTICE = Buffer.from('000008' + '07' + '00' + '00000000' + '7fffffff' + '00000000', 'hex')

/** What each field of a head counts besides its text (RFC 9113 §6.5.2), in bytes. */
const FIELD_OVERHEAD = 32

/** Options of an HTTP/2 server. Node's own limits on the size of SETTINGS and the number of CONTINUATIONs stay in force. */
export function http2Options(limits: Limits): ServerOptions {
  return {
    maxSessionMemory: MAX_SESSION_MEMORY,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    maxSessionRejectedStreams: MAX_REJECTED_STREAMS,
    ...STREAM_RESETS,
    settings: {
      enablePush: false,
      maxConcurrentStreams: limits.maxStreams,
      maxHeaderListSize: limits.maxHeadBytes,
    },
  }
}

/**
 * Whether the head of a request is too long for the limit that the client has been told. Node looks at it only once the
 * client has acknowledged that, and lets four times as much through before.
 */
export function isHeadTooLong({ stream, rawHeaders }: Http2ServerRequest, { maxHeadBytes }: Limits): boolean {
  if (stream.session?.pendingSettingsAck !== true) return false
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length, FIELD_OVERHEAD * (rawHeaders.length / 2))
  return bytes > maxHeadBytes
}

/** The two steps by which a client leaves. */
interface Departure {
  /** That it should open no more streams. Those that it opens all the same are served. */
  notify(): void
  /** That no more streams are served than have come by the time that it knows. */
  leave(): void
}

/** The open HTTP/2 connections of a server. */
export class Http2Sessions {
  readonly #limits: Limits
  readonly #bodies: BodyBudget
  readonly #sessions = new Map<ServerHttp2Session, Departure>()
  #draining = false
  #closing = false

  constructor(
    server: Http2Server | Http2SecureServer,
    { limits, connections, bodies }: { limits: Limits; connections: Connections; bodies: BodyBudget },
  ) {
    this.#limits = limits
    this.#bodies = bodies
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.set(session, this.#watch(session, connections.adopt(session)))
      session.once('close', () => this.#sessions.delete(session))
      // A client that breaks the protocol ends its own connection, and nothing else.
      session.on('error', () => session.destroy())
      if (this.#closing) this.#sessions.get(session)?.leave()
    })
    server.on('sessionError', () => {})
  }

  /** Tells clients to go elsewhere; what they ask for all the same is answered. */
  drain(): void {
    this.#draining = true
    for (const departure of this.#sessions.values()) departure.notify()
  }

  /** Tells clients to go; what they have asked for by the time that they know is still answered. */
  close(): void {
    this.#closing = true
    for (const departure of this.#sessions.values()) departure.leave()
  }

  /** Ends all connections as they are. */
  destroy(): void {
    for (const session of this.#sessions.keys()) session.destroy()
  }

  #watch(session: ServerHttp2Session, socket: Socket | undefined): Departure {
    const { idleTimeout, pingEvery, maxControlFrames, requestTimeout } = this.#limits
    const close = (): void => {
      if (socket !== undefined) closeConnection(socket, session)
      else session.destroy()
    }
    const tooMuch = (): void => {
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      close()
    }
    // Streams may be quiet for as long as their handlers like, so Node's own time limit cannot be used.
    session.setTimeout(0)

    let open = 0
    let asked = false
    let notified = false
    // Before its first request a client would only come again at once.
    const notify = (): void => {
      // TLS in Node takes one write at a time, and those of the session cannot be seen.
      if (!asked || notified || session.encrypted || socket?.writable !== true) return
      notified = true
      socket.write(SHUTDOWN_NOTICE)
    }
    const leave = (): void => {
      wait()
      if (session.destroyed || session.closed) return
      notify()
      // What the client sent before it knew comes before its answer to the ping.
      if (!notified || !session.ping(() => session.close())) session.close()
    }
    let ended = false
    let idle: NodeJS.Timeout | undefined
    const wait = (): void => {
      clearTimeout(idle)
      if (open === 0 && !ended) idle = setTimeout(close, this.#closing ? LEAVE_TIMEOUT : idleTimeout)
    }
    wait()
    let controlFrames = 0
    const countControlFrame = (): void => {
      controlFrames += 1
      if (controlFrames === maxControlFrames) tooMuch()
    }
    session.on('ping', countControlFrame)
    session.on('remoteSettings', countControlFrame)

    // Before the handler reads from it.
    session.prependListener('stream', (stream: ServerHttp2Stream) => this.#bodies.count(stream))
    session.on('stream', (stream: ServerHttp2Stream) => {
      open += 1
      asked = true
      if (this.#draining) notify()
      wait()
      const limit = setTimeout(() => cancelIfIncomplete(stream), requestTimeout)
      stream.on('close', () => {
        clearTimeout(limit)
        open -= 1
        // Made by the client, or by us because of what the client sent: work that nobody gets anything of.
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) countControlFrame()
        wait()
      })
    })

    let answered = true
    const pings = setInterval(() => {
      if (session.destroyed) return
      controlFrames = 0
      if (!answered) return close()
      answered = false
      const payload = randomBytes(8)
      session.ping(payload, (error, _duration, echo) => {
        answered = error === null && payload.equals(echo)
      })
    }, pingEvery)

    session.once('close', () => {
      ended = true
      wait()
      clearInterval(pings)
    })
    return { notify, leave }
  }
}

/** Cancels a stream whose request has not come to its end. An answer may take as long as it takes. */
function cancelIfIncomplete(stream: ServerHttp2Stream): void {
  if (stream.state.remoteClose !== 1) stream.close(constants.NGHTTP2_CANCEL)
}
