/**
 * The limits of a server: timeouts, sizes and counts.
 */

/** Times are in milliseconds, sizes in bytes. */
export interface Limits {
  /** From the connection, or from the end of the previous request's body, to the end of a request's head. */
  readonly headTimeout: number
  /**
   * From the beginning of a request to the end of its body. Also for a client to receive one write of a response, up to twice that, and three
   * times that for a handler to begin its response: longer than any needs, because calls have a minute, and streams begin at once.
   */
  readonly requestTimeout: number
  /** How long an HTTP/1.1 connection may wait for its next request. Longer than most proxies keep one. */
  readonly keepAliveTimeout: number
  /** Without any traffic on a connection. */
  readonly idleTimeout: number
  /** Between two checks of the HTTP/1.1 timeouts above, which is how late they may act. */
  readonly checkInterval: number
  /** The head of a request. */
  readonly maxHeadBytes: number
  /** The body of a request with a Content-Length. Handlers limit the others. */
  readonly maxBodyBytes: number
  /** Connections at the same time. */
  readonly maxConnections: number
  /** Requests in flight at the same time, from their head until their response is read. */
  readonly maxRequests: number
  /** Of them on one HTTP/2 connection. */
  readonly maxStreams: number
}

/** The limits of a server unless a test needs others. */
export const DEFAULT_LIMITS: Limits = {
  headTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  idleTimeout: 120_000,
  checkInterval: 1_000,
  maxHeadBytes: 16 * 1024,
  maxBodyBytes: 64 * 1024,
  maxConnections: 5_000,
  maxRequests: 2_000,
  maxStreams: 100,
}
