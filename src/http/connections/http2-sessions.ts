/**
 * HTTP/2 sessions: limits against abuse, pings that detect dead clients, and graceful shutdown with GOAWAY.
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

/** Memory of one session, in megabytes. */
const MAX_SESSION_MEMORY = 4

/** A connection is closed after so many invalid frames. Node's default is 1000. */
const MAX_INVALID_FRAMES = 20

/** A connection is closed after so many streams were refused for lack of session memory. Node's default is 100. */
const MAX_REJECTED_STREAMS = 20

/** A connection is closed after a burst of 200 stream resets, refilled by 33 a second. Node's default burst is 1000. */
const STREAM_RESETS = { streamResetBurst: 200, streamResetRate: 33 }

/** How long a client may take to close its end of an idle connection after GOAWAY, in milliseconds. */
const GOAWAY_TIMEOUT = 500

/**
 * The first GOAWAY of a graceful shutdown: with the highest stream id, so that no stream is refused yet (RFC 9113 §6.8). Node's own
 * `goaway` refuses every new stream, so this one is written to the socket directly; Node writes whole frames.
 */
const SHUTDOWN_NOTICE = Buffer.from('000008' + '07' + '00' + '00000000' + '7fffffff' + '00000000', 'hex')

/** The overhead of each field in the size of a header list (RFC 9113 §6.5.2), in bytes. */
const FIELD_OVERHEAD = 32

/** Options of an HTTP/2 server. Node's own limits of SETTINGS entries and CONTINUATION frames stay in force. */
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
 * Whether the head of a request exceeds the limit. Node checks that itself once the client has acknowledged the SETTINGS with the
 * limit, and allows four times as much before.
 */
export function isHeadTooLong({ stream, rawHeaders }: Http2ServerRequest, { maxHeadBytes }: Limits): boolean {
  if (stream.session?.pendingSettingsAck !== true) return false
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length, FIELD_OVERHEAD * (rawHeaders.length / 2))
  return bytes > maxHeadBytes
}

/** The two steps of a session's graceful shutdown (RFC 9113 §6.8). */
interface Shutdown {
  /** Sends the first GOAWAY. Streams that the client opens after it are served. */
  notify(): void
  /** Sends the final GOAWAY once the client has seen the first one. Later streams are refused. */
  close(): void
}

/** The open HTTP/2 connections of a server. */
export class Http2Sessions {
  readonly #limits: Limits
  readonly #bodies: BodyBudget
  readonly #sessions = new Map<ServerHttp2Session, Shutdown>()
  #draining = false
  #closing = false

  constructor(
    server: Http2Server | Http2SecureServer,
    { limits, connections, bodies }: { limits: Limits; connections: Connections; bodies: BodyBudget },
  ) {
    this.#limits = limits
    this.#bodies = bodies
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.set(session, this.#watch(session, connections.addSession(session)))
      session.once('close', () => this.#sessions.delete(session))
      // A protocol error ends this connection only.
      session.on('error', () => session.destroy())
      if (this.#closing) this.#sessions.get(session)?.close()
    })
    server.on('sessionError', () => {})
  }

  /** Sends all clients the first GOAWAY and continues to serve them. */
  drain(): void {
    this.#draining = true
    for (const shutdown of this.#sessions.values()) shutdown.notify()
  }

  /** Closes all sessions gracefully: streams that were opened before the final GOAWAY are answered. */
  close(): void {
    this.#closing = true
    for (const shutdown of this.#sessions.values()) shutdown.close()
  }

  /** Closes all sessions at once. */
  destroy(): void {
    for (const session of this.#sessions.keys()) session.destroy()
  }

  #watch(session: ServerHttp2Session, socket: Socket | undefined): Shutdown {
    const { idleTimeout, pingInterval, maxControlFrames, requestTimeout } = this.#limits
    const closeNow = (): void => {
      if (socket !== undefined) closeConnection(socket, session)
      else session.destroy()
    }
    const closeForAbuse = (): void => {
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      closeNow()
    }
    // A long response may be silent for longer than `idleTimeout`, so Node's own timeout cannot be used.
    session.setTimeout(0)

    let openStreams = 0
    let hasRequested = false
    let notified = false
    // A client without a request yet would only reconnect at once.
    const notify = (): void => {
      // A TLS socket of Node takes one write at a time, and writes of the session bypass it.
      if (!hasRequested || notified || session.encrypted || socket?.writable !== true) return
      notified = true
      socket.write(SHUTDOWN_NOTICE)
    }
    const close = (): void => {
      restartIdleTimer()
      if (session.destroyed || session.closed) return
      notify()
      // Streams that the client opened before it read the first GOAWAY arrive before its answer to the ping.
      if (!notified || !session.ping(() => session.close())) session.close()
    }
    let ended = false
    let idle: NodeJS.Timeout | undefined
    const restartIdleTimer = (): void => {
      clearTimeout(idle)
      if (openStreams === 0 && !ended) idle = setTimeout(closeNow, this.#closing ? GOAWAY_TIMEOUT : idleTimeout)
    }
    restartIdleTimer()
    let controlFrames = 0
    const countControlFrame = (): void => {
      controlFrames += 1
      if (controlFrames === maxControlFrames) closeForAbuse()
    }
    session.on('ping', countControlFrame)
    session.on('remoteSettings', countControlFrame)

    // Before the handler reads from the stream.
    session.prependListener('stream', (stream: ServerHttp2Stream) => this.#bodies.track(stream))
    session.on('stream', (stream: ServerHttp2Stream) => {
      openStreams += 1
      hasRequested = true
      if (this.#draining) notify()
      restartIdleTimer()
      const limit = setTimeout(() => cancelIfIncomplete(stream), requestTimeout)
      stream.on('close', () => {
        clearTimeout(limit)
        openStreams -= 1
        // Reset by the client, or by the server because of what the client sent (rapid reset).
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) countControlFrame()
        restartIdleTimer()
      })
    })

    let hasAnsweredPing = true
    const pings = setInterval(() => {
      if (session.destroyed) return
      controlFrames = 0
      if (!hasAnsweredPing) return closeNow()
      hasAnsweredPing = false
      const payload = randomBytes(8)
      session.ping(payload, (error, _duration, echo) => {
        hasAnsweredPing = error === null && payload.equals(echo)
      })
    }, pingInterval)

    session.once('close', () => {
      ended = true
      restartIdleTimer()
      clearInterval(pings)
    })
    return { notify, close }
  }
}

/** Cancels a stream whose request is incomplete. Responses have no timeout here. */
function cancelIfIncomplete(stream: ServerHttp2Stream): void {
  if (stream.state.remoteClose !== 1) stream.close(constants.NGHTTP2_CANCEL)
}
