/**
 * The limits of a server: timeouts, sizes and counts.
 */

/** Times are in milliseconds, sizes in bytes. */
export interface Limits {
  /** From the connection, or from the end of the previous request's body, to the end of a request's head. */
  readonly headTimeout: number
  /** From the beginning of a request to the end of its body. */
  readonly requestTimeout: number
  /**
   * From the end of a request to the beginning of its response, and up to `writeTimeout` more. Longer than any handler needs: calls
   * have a minute, and streams begin at once.
   */
  readonly responseTimeout: number
  /** For the client to receive one write of a response, and up to twice that. */
  readonly writeTimeout: number
  /** How long an HTTP/1.1 connection may wait for its next request. Longer than most proxies keep one. */
  readonly keepAliveTimeout: number
  /** Without any traffic on an HTTP/1.1 connection, and without a request on an HTTP/2 connection. */
  readonly idleTimeout: number
  /** Between two pings of an HTTP/2 client, which must answer each one before the next. */
  readonly pingInterval: number
  /** Between two checks of the HTTP/1.1 timeouts above, which is how late they may act. */
  readonly checkInterval: number
  /** The head of a request. */
  readonly maxHeadBytes: number
  /** The body of a request with a Content-Length. Handlers limit the others. */
  readonly maxBodyBytes: number
  /**
   * The memory of request bodies until their responses end, and of HTTP/2 responses that clients have not read, over all
   * connections, with its overhead.
   */
  readonly maxBodiesBytes: number
  /** Connections at the same time. */
  readonly maxConnections: number
  /** Requests at the same time on one HTTP/2 connection. */
  readonly maxStreams: number
  /** PING and SETTINGS frames and reset streams of one HTTP/2 connection within a `pingInterval`. */
  readonly maxControlFrames: number
}

/** The limits of a server unless a test needs others. */
export const DEFAULT_LIMITS: Limits = {
  headTimeout: 10_000,
  requestTimeout: 30_000,
  responseTimeout: 90_000,
  writeTimeout: 15_000,
  keepAliveTimeout: 65_000,
  idleTimeout: 120_000,
  pingInterval: 30_000,
  checkInterval: 1_000,
  maxHeadBytes: 16 * 1024,
  maxBodyBytes: 64 * 1024,
  maxBodiesBytes: 64 * 1024 * 1024,
  maxConnections: 10_000,
  maxStreams: 100,
  maxControlFrames: 1_000,
}
