/** The limits of a server: timeouts in milliseconds, sizes in bytes, and counts. */
export const DEFAULT_LIMITS = {
  /** From the connection, or from the end of the previous request's body, to the end of a request's head. */
  headTimeout: 10_000,
  /**
   * From the beginning of a request to the end of its body. Also for a client to receive one write of a response, up to twice that, and three
   * times that for a handler to begin its response: streams begin at once.
   */
  requestTimeout: 30_000,
  /** How long an HTTP/1.1 connection may wait for its next request. Longer than most proxies keep one. */
  keepAliveTimeout: 65_000,
  /** Without any traffic on a connection. */
  idleTimeout: 120_000,
  /** Between two checks of the HTTP/1.1 timeouts above, which is how late they may act. */
  checkInterval: 1_000,
  maxHeadBytes: 16 * 1024,
  /** The body of a request with a Content-Length. Handlers limit the others. */
  maxBodyBytes: 64 * 1024,
  /** Connections at the same time. */
  maxConnections: 5_000,
  /** Requests in flight at the same time, from their head until their response is read. */
  maxRequests: 2_000,
  /** Of them on one HTTP/2 connection. */
  maxStreams: 100,
}

/** The limits of a server; tests have others. */
export type Limits = Readonly<typeof DEFAULT_LIMITS>
