/**
 * What the load generator is told to do, and what it measures. Both travel between processes, so they are plain data.
 */

/** Load on one server. */
export type Job = HttpJob | GrpcJob

interface Common {
  /** The server, for example `http://127.0.0.1:1234`. */
  readonly url: string
  /** The processes whose CPU time counts. */
  readonly pids: readonly number[]
  /** Load before the window that is measured, in seconds. */
  readonly warmUpSeconds: number
  readonly seconds: number
  /** How many requests are under way at the same time, at most. */
  readonly concurrency: number
}

/** HTTP/1.1 without pipelining, on as many keep-alive connections as requests may be under way. */
export interface HttpJob extends Common {
  readonly kind: 'http'
  /** Whole requests as they are sent, taken by chance in turn. */
  readonly requests: readonly string[]
  /** What is signed anew for each request, because it is good once. */
  readonly signing?: Signing
  readonly expectedStatus: number
  /** How many requests a second are sent whether or not there are answers. Without it: the next after each answer. */
  readonly ratePerSecond?: number
  /** Whether the load generator never sleeps while it waits for answers. Takes a core. Default false. */
  readonly staysAwake?: boolean
  /** How many bodies of answers are handed back, spread over the window. */
  readonly samples: number
}

/** A JWT with a `jti` of its own, `iat` and `exp`, signed with ES256, which takes the place of `SIGNED` in the request. */
export interface Signing {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly privateJwk: Readonly<Record<string, unknown>>
}

/** One unary gRPC method over HTTP/2 without TLS, again and again. */
export interface GrpcJob extends Common {
  readonly kind: 'grpc'
  /** For example `/iam.webkey.v2beta.WebKeyService/ListWebKeys`. */
  readonly path: string
  readonly authorization: string
  /** Connections, which share the requests that are under way. */
  readonly sessions: number
}

/** What was seen within the window. */
export interface Measurement {
  readonly seconds: number
  /** Answers as expected. */
  readonly answers: number
  /** Answers with another status, and connections that broke. */
  readonly errors: number
  readonly firstError: string | null
  /** Of the server. */
  readonly cpuSeconds: number
  /** Of the load generator itself. */
  readonly generatorCpuSeconds: number
  /** From when a request was due until its answer was there, in milliseconds. */
  readonly latency: { readonly p50: number; readonly p99: number }
  readonly samples: readonly string[]
}
