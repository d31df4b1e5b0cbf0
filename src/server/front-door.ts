/**
 * The port of the server and what is behind each path.
 *
 * It is open from the beginning, and says that the server is not ready until there is something to serve.
 */
import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.ts'
import type { Log } from '../domain/ports.ts'
import { READ_ONLY, RPC } from '../http/cors.ts'
import { type Handler, sendError } from '../http/exchange.ts'
import { healthz, type Readiness, readyz } from '../http/health.ts'
import { DEFAULT_LIMITS } from '../http/limits.ts'
import { type Listener, listen } from '../http/listener.ts'
import { type Answered, createRouter, type Route } from '../http/router.ts'
import { OAUTH_PATHS } from '../oauth/endpoints.ts'
import type { OAuthRoutes } from '../oauth/routes.ts'
import type { RpcRoutes } from '../rpc/routes.ts'

/** What is served once the server is ready. */
export interface Services {
  readonly oauth: OAuthRoutes
  readonly rpc: RpcRoutes
  readonly readiness: () => Readiness
}

/** What a front door needs. */
export interface FrontDoorOptions {
  readonly config: Config
  readonly log: Log
  readonly onAnswered: (answered: Answered) => void
}

const NOT_YET: Handler = (_req, res) =>
  sendError(
    res,
    503,
    { code: 'temporarily_unavailable', description: 'the server is starting' },
    { 'retry-after': '1' },
  )

export class FrontDoor {
  readonly #listener: Listener
  readonly #routes: Map<string, Route>
  /** The base URL that clients use, without a slash at its end. */
  readonly baseUrl: string
  #readiness: () => Readiness = () => ({ ready: false, reason: 'the server is starting' })

  private constructor(listener: Listener, baseUrl: string, routes: Map<string, Route>) {
    this.#listener = listener
    this.#routes = routes
    this.baseUrl = baseUrl
    routes.set('/healthz', { methods: { GET: healthz }, cors: null })
    routes.set('/readyz', { methods: { GET: readyz(() => this.#readiness()) }, cors: null })
  }

  /** Starts listening. @throws {Error} that says what to do. */
  static async open({ config, log, onAnswered }: FrontDoorOptions): Promise<FrontDoor> {
    const routes = new Map<string, Route>()
    for (const path of Object.values(OAUTH_PATHS)) {
      routes.set(path, { methods: { GET: NOT_YET, POST: NOT_YET }, cors: null })
    }
    const router = createRouter({ routes, maxBodyBytes: DEFAULT_LIMITS.maxBodyBytes, log, onAnswered })
    const listener = await listen({ ...config.listen, tls: config.tls, limits: DEFAULT_LIMITS, log, handler: router })
    const scheme = config.tls === null ? 'http' : 'https'
    return new FrontDoor(listener, config.baseUrl ?? `${scheme}://localhost:${listener.port}`, routes)
  }

  /** Where it listens, for example `http://127.0.0.1:8080`. */
  get listenUrl(): string {
    return this.#listener.url
  }

  /** Puts the services behind their paths. */
  serve({ oauth, rpc, readiness }: Services): void {
    const { host } = new URL(this.baseUrl)
    this.#readiness = readiness
    this.#routes.set(OAUTH_PATHS.token, { methods: { POST: oauth.token }, cors: null })
    this.#routes.set(OAUTH_PATHS.jwks, { methods: { GET: oauth.jwks }, cors: READ_ONLY })
    this.#routes.set(OAUTH_PATHS.openidConfiguration, { methods: { GET: oauth.discovery }, cors: READ_ONLY })
    this.#routes.set(OAUTH_PATHS.authorizationServer, { methods: { GET: oauth.discovery }, cors: READ_ONLY })
    for (const [path, handler] of rpc) {
      const answer: Handler = (req, res) => {
        setAuthority(req, host)
        return handler(req, res)
      }
      this.#routes.set(path, { methods: { GET: answer, POST: answer }, cors: RPC })
    }
  }

  /** Finishes what is in flight. @param grace After so many milliseconds the rest is cut off. */
  close(grace: number): Promise<void> {
    this.#readiness = () => ({ ready: false, reason: 'the server is stopping' })
    return this.#listener.close(grace)
  }
}

/** Connect makes a URL of what the client calls the server. Nothing depends on that, so it must not fail on it either. */
function setAuthority(req: IncomingMessage, authority: string): void {
  req.headers.host = authority
  if (req.headers[':authority'] !== undefined) req.headers[':authority'] = authority
}
