/**
 * The HTTP/2 side: limits of connections and streams, and the end of them all when the server stops.
 */
import type { Http2SecureServer, Http2Server, ServerHttp2Session, ServerOptions } from 'node:http2'
import { constants } from 'node:http2'
import type { Limits } from './limits.ts'

/** The most that one connection may keep in memory, in megabytes. */
const MAX_SESSION_MEMORY = 4

/** Frames that break the protocol before the connection is closed. Node allows 1000. */
const MAX_INVALID_FRAMES = 20

/** Options of an HTTP/2 server. Node's own limits on settings, pings and resets stay in force. */
export function http2Options(limits: Limits): ServerOptions {
  return {
    maxSessionMemory: MAX_SESSION_MEMORY,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    settings: {
      enablePush: false,
      maxConcurrentStreams: limits.maxStreams,
      maxHeaderListSize: limits.maxHeadBytes,
    },
  }
}

/** The open HTTP/2 connections of a server. */
export class Http2Sessions {
  readonly #sessions = new Set<ServerHttp2Session>()

  constructor(server: Http2Server | Http2SecureServer, limits: Limits) {
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session)
      session.once('close', () => this.#sessions.delete(session))
      session.setTimeout(limits.idleTimeout, () => session.destroy())
      // A client that breaks the protocol ends its own connection, and nothing else.
      session.on('error', () => session.destroy())
    })
    server.on('stream', (stream) => {
      const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), limits.requestTimeout)
      const stop = () => clearTimeout(timer)
      stream.once('end', stop)
      stream.once('close', stop)
    })
    server.on('sessionError', () => {})
  }

  /** Tells clients to go; what they have asked for is still answered. */
  close(): void {
    for (const session of this.#sessions) session.close()
  }

  /** Ends all connections as they are. */
  destroy(): void {
    for (const session of this.#sessions) session.destroy()
  }
}
