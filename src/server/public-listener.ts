/** The public port of the server: when it opens, drains and closes, and what is behind each path, before and after the server is ready. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { isConsolePath, SESSION_PATH } from '../domain/console/sign-ins.ts'
import { setHeaders } from '../domain/http-headers.ts'
import type { Log, Readiness } from '../domain/ports/runtime.ts'
import { DEFAULT_LIMITS } from '../http/connections/limits.ts'
import { CONSOLE_HEADER_LIST } from '../http/console/console-page.ts'
import { type Listener, listen } from '../http/listener.ts'
import { READ_ONLY } from '../http/requests/cors.ts'
import { type Handler, type Refuse, refuse, sendJson } from '../http/requests/exchange.ts'
import { healthz, readyz } from '../http/requests/health.ts'
import type { RequestContexts } from '../http/requests/request-context.ts'
import {
  type Answered,
  createRouter,
  type Fallback,
  notFound,
  type Route,
  type Routes,
} from '../http/requests/router.ts'
import { DOCUMENT_PATHS, OAUTH_PATHS } from '../oauth/requests/endpoints.ts'
import type { OAuthRoutes } from '../oauth/routes.ts'
import { isZitadelRest } from '../rpc/keys/zitadel-web-key-service.ts'
import { connectRefusal, grpcRefusal, isGrpc } from '../rpc/protocol/http-refusals.ts'
import { restRefusal } from '../rpc/protocol/rest.ts'
import { isRpc } from '../rpc/protocol/rpc-route.ts'
import { createPublicRpc, type PublicRpc } from '../rpc/public/public-routes.ts'

/** What is served once the server is ready. */
export interface Services {
  readonly oauth: OAuthRoutes
  readonly rpc: Routes
  /** The page of the console and its files; none without a console. */
  readonly console: readonly (readonly [string, Route])[]
  readonly readiness: () => Readiness
  readonly canAdminister: () => boolean
}

export interface PublicListenerOptions {
  readonly config: Config
  readonly log: Log
  readonly contexts: RequestContexts
  readonly onAnswered: (answered: Answered) => void
  readonly around: (handler: Handler) => Handler
}

const STARTING = {
  status: 503,
  code: 'temporarily_unavailable',
  description: 'the server is starting: try again later',
  headers: { 'retry-after': '1' },
}

/** Refuses at the paths of RPCs, also of RPCs that do not exist. */
const refuseCall: Refuse = (res, { status, description, headers = {} }) => {
  if (!isGrpc(res.req.headers['content-type'])) {
    sendJson(res, status, connectRefusal(status, description), headers)
    return
  }
  res.statusCode = 200
  setHeaders(res, Object.entries({ ...headers, ...grpcRefusal(status, description) }).flat())
  // Together with the headers: clients take an end that comes later for a broken answer.
  res.end()
}

/** Refuses at REST paths. */
const refuseRest: Refuse = (res, { status, description, headers }) =>
  sendJson(res, status, restRefusal(status, description), headers)

export class PublicListener {
  readonly #options: PublicListenerOptions
  readonly #public: PublicRpc
  readonly #stopping = new AbortController()
  /** In force: at first one that refuses, later the one with the services. */
  #router: Handler
  #readiness: () => Readiness = () => ({ ready: false, reason: 'the server is starting' })
  #canAdminister = () => false
  #listener: Listener | undefined
  #opening: Promise<void> | undefined

  constructor(options: PublicListenerOptions) {
    this.#options = options
    const { config, contexts, log } = options
    const serving = () => ({ tokens: this.#readiness().ready, administration: this.#canAdminister() })
    this.#public = createPublicRpc({
      serving,
      servesDeprecated: config.betaApi,
      servesZitadel: config.zitadelApi,
      servesConsole: config.console,
      requestContext: contexts,
      log,
    })
    // The paths are not known yet, and clients do not retry after "not found".
    this.#router = this.#createRouter(this.#public.routes, (req, res, refuse) => {
      contexts.refused(req, STARTING.code)
      refuse(res, STARTING)
    })
  }

  /** Starts listening. Only the first call has an effect. @throws {Error} that says what to do. */
  open(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** The base URL that clients use, without a trailing slash. Before the port is open, it must be configured. */
  get baseUrl(): string {
    const { baseUrl, tls } = this.#options.config
    return baseUrl ?? `${tls === null ? 'http' : 'https'}://localhost:${this.#opened.port}`
  }

  /** The URL of the socket, for example `http://127.0.0.1:8080`. */
  get listenUrl(): string {
    return this.#opened.url
  }

  /** Aborted when the port is closed. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  connections(): number {
    return this.#listener?.connections() ?? 0
  }

  /** Routes to the services. */
  serve({ oauth, rpc, console, readiness, canAdminister }: Services): void {
    this.#readiness = readiness
    this.#canAdminister = canAdminister
    const documents = Object.entries(DOCUMENT_PATHS).map(([path, name]): [string, Route] => [
      path,
      { methods: { GET: oauth[name] }, cors: READ_ONLY, sendsHeaders: true },
    ])
    this.#router = this.#createRouter(
      [
        [OAUTH_PATHS.token, { methods: { POST: oauth.token }, cors: null, sendsHeaders: true }],
        [OAUTH_PATHS.introspection, { methods: { POST: oauth.introspection }, cors: null, sendsHeaders: true }],
        [OAUTH_PATHS.revocation, { methods: { POST: oauth.revocation }, cors: null, sendsHeaders: true }],
        ...documents,
        ...this.#public.routes,
        ...rpc,
        ...console,
      ],
      notFound,
    )
  }

  /** Is not ready, and says why. */
  wait(reason: string): void {
    this.#readiness = () => ({ ready: false, reason })
  }

  /** Drains: is not ready any more, and goes on serving while clients go to other replicas. */
  async drain(milliseconds: number): Promise<void> {
    this.#refuseProbes()
    this.#listener?.drain()
    await delay(milliseconds)
  }

  /** Ends streams without an end, and finishes requests in flight. @param grace After so many milliseconds the rest is cut off. */
  async close(grace: number): Promise<void> {
    this.#refuseProbes()
    this.#public.endStreams()
    this.#stopping.abort()
    await this.#opening?.catch(() => {})
    await this.#listener?.close(grace)
  }

  #refuseProbes(): void {
    this.wait('the server is stopping')
    this.#canAdminister = () => false
  }

  async #open(): Promise<void> {
    const { config, log, around } = this.#options
    const { listen: address, tls } = config
    const asksForCertificates = config.mtls.source === 'tls'
    const handler = around((req, res) => this.#router(req, res))
    this.#listener = await listen({ ...address, tls, asksForCertificates, limits: DEFAULT_LIMITS, log, handler })
  }

  get #opened(): Listener {
    if (this.#listener === undefined) throw new Error('the port is not open yet')
    return this.#listener
  }

  #createRouter(routes: Iterable<readonly [string, Route]>, fallback: Fallback): Handler {
    const { config } = this.#options
    return createRouter({
      routes: new Map([
        ['/healthz', { methods: { GET: healthz }, cors: null }],
        ['/readyz', { methods: { GET: readyz(() => this.#readiness()) }, cors: null }],
        ...routes,
      ]),
      fallback,
      refuseAt: (path) => {
        if (isRpc(path) || path === SESSION_PATH) return refuseCall
        return config.zitadelApi && isZitadelRest(path) ? refuseRest : refuse
      },
      headersAt: (path) => (config.console && isConsolePath(path) ? CONSOLE_HEADER_LIST : []),
      maxBodyBytes: DEFAULT_LIMITS.maxBodyBytes,
      secure: config.tls !== null,
      ...this.#options,
    })
  }
}
