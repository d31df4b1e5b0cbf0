/**
 * The port of the server and what is behind each path.
 *
 * While there is nothing to serve it says that the server is not ready.
 */
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import { setHeaders } from '../domain/header-list.ts'
import type { Log, Readiness } from '../domain/ports.ts'
import { DEFAULT_LIMITS, type Limits } from '../http/connections/limits.ts'
import { readMaxOpenFiles, withinOpenFiles } from '../http/connections/open-files.ts'
import { type Listener, listen } from '../http/listener.ts'
import { reserve } from '../http/requests/body-budget.ts'
import { READ_ONLY, RPC } from '../http/requests/cors.ts'
import { cutOff, type Handler, type Refuse, refuse, sendJson } from '../http/requests/exchange.ts'
import { healthz, readyz } from '../http/requests/health.ts'
import type { RequestContexts } from '../http/requests/request-context.ts'
import { type Answered, createRouter, type Fallback, notFound, type Route } from '../http/requests/router.ts'
import { DOCUMENT_PATHS, OAUTH_PATHS } from '../oauth/endpoints.ts'
import type { OAuthRoutes } from '../oauth/routes.ts'
import { connectRefusal, grpcRefusal, isGrpc } from '../rpc/protocol/http-refusals.ts'
import { createPublicRpc, type PublicRpc } from '../rpc/public/public-routes.ts'
import type { RpcRoutes } from '../rpc/routes.ts'
import { isRpc } from '../rpc/rpc-route.ts'
import { systemClock } from './system-clock.ts'

/** What is served once the server is ready. */
export interface Services {
  readonly oauth: OAuthRoutes
  readonly rpc: RpcRoutes
  readonly readiness: () => Readiness
  /** Whether administrative calls can be answered. */
  readonly canAdminister: () => boolean
}

/** What a front door needs. */
export interface PublicListenerOptions {
  readonly config: Config
  readonly log: Log
  readonly contexts: RequestContexts
  readonly onAnswered: (answered: Answered) => void
  /** Makes the handler of all requests from one that answers them. */
  readonly around: (handler: Handler) => Handler
}

export class PublicListener {
  readonly #options: PublicListenerOptions
  readonly #routing: Routing
  #listener: Listener | undefined
  #opening: Promise<void> | undefined

  constructor(options: PublicListenerOptions) {
    this.#options = options
    this.#routing = new Routing(options)
  }

  /**
   * Starts listening, on the configured port or another one. Once it is open, or being opened, it stays where it is.
   *
   * @throws {Error} that says what to do.
   */
  open(port = this.#options.config.listen.port): Promise<void> {
    this.#opening ??= this.#open(port)
    return this.#opening
  }

  /** The base URL that clients use, without a slash at its end. Before it is open, only if the configuration names it. */
  get baseUrl(): string {
    const { baseUrl, tls } = this.#options.config
    return baseUrl ?? `${tls === null ? 'http' : 'https'}://localhost:${this.#opened.port}`
  }

  /** Where it listens, for example `http://127.0.0.1:8080`. */
  get listenUrl(): string {
    return this.#opened.url
  }

  /** How many connections are open. */
  connections(): number {
    return this.#listener?.connections() ?? 0
  }

  /** Puts the services behind their paths. */
  serve(services: Services): void {
    this.#routing.serve(services, new URL(this.baseUrl).host)
  }

  /** Says why there is nothing to serve yet. */
  wait(reason: string): void {
    this.#routing.wait(reason)
  }

  /** Says that it is not ready, and serves on while clients go elsewhere. */
  async drain(milliseconds: number): Promise<void> {
    this.#routing.refuseProbes()
    this.#listener?.drain()
    await delay(milliseconds)
  }

  /** Finishes what is in flight. @param grace After so many milliseconds the rest is cut off. */
  async close(grace: number): Promise<void> {
    this.#routing.stop()
    await this.#opening?.catch(() => {})
    await this.#listener?.close(grace)
  }

  async #open(port: number): Promise<void> {
    const { config, log, around } = this.#options
    const { listen: address, tls } = config
    const limits = await limitsHere(log)
    this.#listener = await listen({ ...address, port, tls, limits, log, handler: around(this.#routing.handle) })
  }

  get #opened(): Listener {
    if (this.#listener === undefined) throw new Error('the port is not open yet')
    return this.#listener
  }
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

/** What the router needs of it. */
type RoutingOptions = Omit<PublicListenerOptions, 'around'>

/** The router in force: first one that says "not yet", then the one with the services. */
class Routing {
  readonly #options: RoutingOptions
  readonly #public: PublicRpc
  #router: Handler
  #readiness: () => Readiness = () => ({ ready: false, reason: 'the server is starting' })
  #canAdminister = () => false

  constructor(options: RoutingOptions) {
    this.#options = options
    const { config, contexts, log } = options
    const serving = () => ({ tokens: this.#readiness().ready, administration: this.#canAdminister() })
    this.#public = createPublicRpc({
      serving,
      servesDeprecated: config.betaApi,
      clock: systemClock,
      requestContext: contexts,
      log,
    })
    // Which paths there will be is not known yet, and "not found" would tell clients not to try again.
    this.#router = this.#createRouter(calls(this.#public.routes, 'localhost'), (req, res, refuse) => {
      contexts.refused(req, STARTING.code)
      refuse(res, STARTING)
    })
  }

  readonly handle: Handler = (req, res) => this.#router(req, res)

  serve({ oauth, rpc, readiness, canAdminister }: Services, authority: string): void {
    this.#readiness = readiness
    this.#canAdminister = canAdminister
    const documents = Object.entries(DOCUMENT_PATHS).map(([path, name]): [string, Route] => [
      path,
      { methods: { GET: oauth[name] }, cors: READ_ONLY, sendsHeaders: true },
    ])
    this.#router = this.#createRouter(
      [
        [OAUTH_PATHS.token, { methods: { POST: oauth.token }, cors: null, sendsHeaders: true }],
        ...documents,
        ...calls(this.#public.routes, authority),
        ...calls(rpc, authority),
      ],
      notFound,
    )
  }

  /** Says why there is nothing to serve yet. */
  wait(reason: string): void {
    this.#readiness = () => ({ ready: false, reason })
  }

  /** Says that the server stops. */
  refuseProbes(): void {
    this.#readiness = () => ({ ready: false, reason: 'the server is stopping' })
    this.#canAdminister = () => false
  }

  /** Says that the server stops, and ends what would not end by itself. */
  stop(): void {
    this.refuseProbes()
    this.#public.endStreams()
  }

  #createRouter(routes: readonly (readonly [string, Route])[], fallback: Fallback): Handler {
    return createRouter({
      routes: new Map([
        ['/healthz', { methods: { GET: healthz }, cors: null }],
        ['/readyz', { methods: { GET: readyz(() => this.#readiness()) }, cors: null }],
        ...routes,
      ]),
      fallback,
      refuseAt: (path) => (isRpc(path) ? refuseCall : refuse),
      maxBodyBytes: DEFAULT_LIMITS.maxBodyBytes,
      secure: this.#options.config.tls !== null,
      ...this.#options,
    })
  }
}

function calls(rpc: RpcRoutes, authority: string): [string, Route][] {
  return [...rpc].map(([path, call]) => {
    const answer: Handler = (req, res) => {
      setAuthority(req, authority)
      return call.answer(req, res, { cutOff: () => cutOff(res), reserve: (bytes) => reserve(req, bytes) })
    }
    const methods = call.readOnly ? { GET: answer, POST: answer } : { POST: answer }
    return [path, { methods, cors: RPC, headers: call.headers }]
  })
}

async function limitsHere(log: Log): Promise<Limits> {
  const maxOpenFiles = await readMaxOpenFiles()
  const limits = withinOpenFiles(DEFAULT_LIMITS, maxOpenFiles)
  const { maxConnections } = limits
  if (maxConnections < DEFAULT_LIMITS.maxConnections) {
    log.warn(
      { maxOpenFiles, maxConnections },
      'fewer connections are possible, because the process may not open more files',
    )
  }
  return limits
}

/** Connect makes a URL of what the client calls the server. Nothing depends on that, so it must not fail on it either. */
function setAuthority(req: IncomingMessage, authority: string): void {
  req.headers.host = authority
  if (req.headers[':authority'] !== undefined) req.headers[':authority'] = authority
}
