/**
 * How much of the server one client can take, and for how long.
 */

/** Times are in milliseconds, sizes in bytes. */
export interface Limits {
  /** From connecting, or from the end of the last request's body, to the end of a request's head. */
  readonly headTimeout: number
  /** From the beginning of a request to the end of its body. */
  readonly requestTimeout: number
  /**
   * From when a request has come whole to the beginning of its answer, and `answerTimeout` more at most. Longer than any handler
   * needs: calls have a minute, and streams begin at once.
   */
  readonly responseTimeout: number
  /** How long a client may take to receive each write of an answer as a whole: at least, and at most twice that. */
  readonly answerTimeout: number
  /** How long an HTTP/1.1 connection may wait for its next request. Longer than most proxies keep one. */
  readonly keepAliveTimeout: number
  /** How long an HTTP/1.1 connection may go without any traffic, and an HTTP/2 connection without any request. */
  readonly idleTimeout: number
  /** How often HTTP/2 clients are asked whether they are still there, which they must answer before the next time. */
  readonly pingEvery: number
  /** How often the limits above are looked at, which is how late they may act. */
  readonly checkEvery: number
  /** The head of a request. */
  readonly maxHeadBytes: number
  /** The body of a request that says how long it is. Handlers limit the others. */
  readonly maxBodyBytes: number
  /**
   * Unfinished and unanswered bodies, and answers of HTTP/2 that have not been taken, of all connections together, with what they
   * take besides their bytes.
   */
  readonly maxBodiesBytes: number
  /** Connections at the same time. */
  readonly maxConnections: number
  /** Requests at the same time on one HTTP/2 connection. */
  readonly maxStreams: number
  /** What an HTTP/2 client may send between two `pingEvery` that asks for nothing: pings, settings, broken requests. */
  readonly maxControlFrames: number
}

/** The limits of a server unless a test needs others. */
export const DEFAULT_LIMITS: Limits = {
  headTimeout: 10_000,
  requestTimeout: 30_000,
  responseTimeout: 90_000,
  answerTimeout: 15_000,
  keepAliveTimeout: 65_000,
  idleTimeout: 120_000,
  pingEvery: 30_000,
  checkEvery: 1_000,
  maxHeadBytes: 16 * 1024,
  maxBodyBytes: 64 * 1024,
  maxBodiesBytes: 64 * 1024 * 1024,
  maxConnections: 10_000,
  maxStreams: 100,
  maxControlFrames: 1_000,
}
