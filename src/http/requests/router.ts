/**
 * Routes requests by path or path template, with what all routes share: request id, body size limit, CORS, and a response when a handler
 * fails.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http'
import { type HeaderList, setHeaders } from '../../domain/http-headers.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { allowOrigin, answerPreflight, type CorsPolicy } from './cors.ts'
import { cutOff, type Handler, HSTS, NO_SNIFF, REQUEST_ID, type Refusal, type Refuse, refuse } from './exchange.ts'
import type { RequestContexts, RequestFacts } from './request-context.ts'

/** Answers a request. @param headers Of every response of its route. They are set already, unless `sendsHeaders`. */
export type RouteHandler = (req: IncomingMessage, res: ServerResponse, headers: HeaderList) => void | Promise<void>

/** Answers a request without a route. @param refuse Refuses in the error format of its path. */
export type Fallback = (req: IncomingMessage, res: ServerResponse, refuse: Refuse) => void

/** The handlers of a path. A handler of GET also answers HEAD, without a body. */
export interface Route {
  readonly methods: Readonly<Partial<Record<'GET' | 'POST' | 'DELETE', RouteHandler>>>
  /** Null: no other origin is allowed. */
  readonly cors: CorsPolicy | null
  /** Headers of every response, also of the router's refusals. */
  readonly headers?: Readonly<Record<string, string>>
  /** The longest body with a Content-Length, in bytes. Default: that of the router. */
  readonly maxBodyBytes?: number
  /** Whether the handlers send the common headers with their own in one call, which is faster. Default false: they are set before. */
  readonly sendsHeaders?: boolean
}

/** By path, without the query. A segment `{id}` stands for any one segment that is not empty; exact paths come first. */
export type Routes = ReadonlyMap<string, Route>

/** A request whose response has ended, or whose client has left. No field has free text from the client. */
export interface Answered extends RequestFacts {
  readonly request: IncomingMessage
  /** A known method, or `other`. */
  readonly method: string
  /** The path or template of the route, or `other`. */
  readonly route: string
  /** 499 if the client left before the response began. */
  readonly status: number
  readonly seconds: number
  readonly requestId: string
  /** `x-request-id` of the client, if it has only harmless characters. */
  readonly clientRequestId?: string
}

export interface RouterOptions {
  readonly routes: Routes
  readonly fallback: Fallback
  /** Returns the error format of a path, with or without a route. Default: that of OAuth everywhere. */
  readonly refuseAt?: (path: string) => Refuse
  /** Returns the headers of responses at a path without a route. Default: none. */
  readonly headersAt?: (path: string) => HeaderList
  /** A request with a greater Content-Length is refused with 413. In bytes. */
  readonly maxBodyBytes: number
  /** Whether requests come over TLS. Default false. */
  readonly secure?: boolean
  readonly log: Log
  readonly contexts: RequestContexts
  readonly onAnswered: (answered: Answered) => void
}

interface Target {
  readonly name: string
  readonly route: Route | undefined
  /** Of every response, without the request id. */
  readonly headers: HeaderList
}

const ANY_SEGMENT = '{id}'

const HARMLESS_ID = /^[A-Za-z0-9._-]{1,64}$/

/** What stands before the path in the absolute form of a request target, which a server must accept (RFC 9112 §3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** Node accepts any token as a method over HTTP/2. */
const KNOWN_METHODS = new Set(METHODS)

/** The client left before the response began. A status of nginx; HTTP has none for that. */
const CLIENT_LEFT = 499

export const notFound: Fallback = (_req, res, refuse) =>
  refuse(res, { status: 404, code: 'not_found', description: 'there is nothing at this address' })

export function createRouter(options: RouterOptions): Handler {
  const { routes, fallback, refuseAt = () => refuse, headersAt = () => [] } = options
  const { maxBodyBytes, secure = false, log, contexts, onAnswered } = options
  const always = secure ? [...NO_SNIFF, ...HSTS] : NO_SNIFF
  const targets = new Map<string, Target>(
    [...routes].map(([path, route]) => [path, { name: path, route, headers: [...always, ...headersOf(route)] }]),
  )
  const templates = [...targets.values()]
    .filter(({ name }) => name.includes(ANY_SEGMENT))
    .map((target) => ({ pattern: patternOf(target.name), target }))
  const byTemplate = (path: string) => templates.find(({ pattern }) => pattern.test(path))?.target
  const noTarget: Target = { name: 'other', route: undefined, headers: always }
  return (req, res) => {
    const startedAt = performance.now()
    contexts.begin(req)
    const given = req.url ?? ''
    const url = given.startsWith('/') ? given : given.replace(ORIGIN, '')
    req.url = url
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    const target = targets.get(path) ?? byTemplate(path) ?? noTarget
    const { name, route } = target
    const clientRequestId = idOfClient(req)
    // A client could send the same id twice.
    const requestId = randomUUID()
    req.headers[REQUEST_ID] = requestId
    const own = route === undefined ? [...target.headers, ...headersAt(path)] : target.headers
    const headers = [...own, REQUEST_ID, requestId]
    res.on('close', () => {
      if (!res.headersSent || !res.writableFinished) contexts.refused(req, 'aborted')
      onAnswered({
        request: req,
        method: methodOf(req),
        route: name,
        status: res.headersSent ? res.statusCode : CLIENT_LEFT,
        seconds: (performance.now() - startedAt) / 1000,
        requestId,
        ...(clientRequestId === undefined ? {} : { clientRequestId }),
        ...contexts.about(req),
      })
    })

    // The unread rest of a refused body would block the next request of the connection.
    if (mayHaveBody(req)) res.on('finish', () => req.resume())

    const fail = (error: unknown): void => {
      log.error({ err: error, requestId, path: name }, 'a request failed')
      contexts.refused(req, 'server_error')
      if (res.headersSent) return void cutOff(res)
      setHeaders(res, headers)
      const description = `internal error, request id ${requestId}`
      refuseAt(path)(res, { status: 500, code: 'server_error', description })
    }
    try {
      const longest = route?.maxBodyBytes ?? maxBodyBytes
      const answering = dispatch(req, res, { route, headers, fallback, refuse: refuseAt(path), longest })
      // Without `await`, which would delay responses of synchronous handlers.
      return answering instanceof Promise ? answering.catch(fail) : undefined
    } catch (error) {
      fail(error)
    }
  }
}

/** What a request is answered with. */
interface Dispatch extends Pick<RouterOptions, 'fallback'> {
  readonly route: Route | undefined
  readonly headers: HeaderList
  readonly refuse: Refuse
  /** The longest body, in bytes. */
  readonly longest: number
}

/** Returns a promise only if the handler does. */
function dispatch(
  req: IncomingMessage,
  res: ServerResponse,
  { route, headers, fallback, refuse, longest }: Dispatch,
): void | Promise<void> {
  const handler = route === undefined ? undefined : handlerOf(route, req)
  const isTooLong = Number(req.headers['content-length'] ?? 0) > longest
  if (route?.sendsHeaders === true && handler !== undefined && !isTooLong) return handler(req, res, headers)

  setHeaders(res, headers)
  // Node reads and drops the body, within the request timeout. If the connection were closed while the client is still sending, the
  // client would lose the response (RFC 9112 §9.6).
  if (isTooLong) return refuse(res, tooLong(longest))
  if (handler !== undefined) return handler(req, res, headers)
  if (route === undefined) return fallback(req, res, refuse)
  const { methods, cors } = route
  if (req.method === 'OPTIONS' && cors !== null) return answerPreflight(res, cors)
  const { GET, POST, DELETE } = methods
  const allowed = [GET && 'GET, HEAD', POST && 'POST', DELETE && 'DELETE', cors && 'OPTIONS']
  const allow = allowed.filter(Boolean).join(', ')
  return refuse(res, { status: 405, code: 'invalid_request', description: `use ${allow}`, headers: { allow } })
}

function handlerOf({ methods }: Route, req: IncomingMessage): RouteHandler | undefined {
  if (req.method === 'POST' || req.method === 'DELETE') return methods[req.method]
  return isRead(req) ? methods.GET : undefined
}

/** Of a template whose other segments have letters, digits and `_` only. */
function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replace(ANY_SEGMENT, '[^/]+')}$`)
}

/** The headers of every response of a route, besides those of all routes. */
function headersOf({ cors, headers = {} }: Route): HeaderList {
  return [...(cors === null ? [] : allowOrigin(cors)), ...Object.entries(headers).flat()]
}

function methodOf({ method = '' }: IncomingMessage): string {
  return KNOWN_METHODS.has(method) ? method : 'other'
}

/** The client's own request id, if it is short and safe for a log. */
function idOfClient({ headers }: IncomingMessage): string | undefined {
  const given = headers[REQUEST_ID]
  return typeof given === 'string' && HARMLESS_ID.test(given) ? given : undefined
}

function tooLong(maxBodyBytes: number): Refusal {
  const description = `the request body is longer than ${maxBodyBytes} bytes`
  return { status: 413, code: 'invalid_request', description }
}

/** A body of HTTP/2 needs no header. */
function mayHaveBody({ headers, httpVersionMajor }: IncomingMessage): boolean {
  const announced = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return announced || httpVersionMajor > 1
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
