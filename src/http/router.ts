/**
 * Finds the handler of a request and does what is the same for all of them: request id, size limit, CORS, and an answer
 * when a handler fails.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http'
import type { Log } from '../domain/ports.ts'
import { allowOrigin, answerPreflight, type CorsPolicy } from './cors.ts'
import { type Handler, sendError } from './exchange.ts'
import type { RequestNotebook } from './request-notes.ts'

/** What is at a path. A handler of GET answers HEAD as well and leaves the body out. */
export interface Route {
  readonly methods: Readonly<Partial<Record<'GET' | 'POST', Handler>>>
  /** Null: pages of other origins may not use it. */
  readonly cors: CorsPolicy | null
  /** What every answer has, refusals of the router among them. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that has been answered, or that nobody waits for any more. Nothing of it is text that a client made up. */
export interface Answered {
  readonly request: IncomingMessage
  /** One that HTTP knows, or `other`. */
  readonly method: string
  /** The path of the route, or `other`. */
  readonly route: string
  /** 499 if the client left before there was one. */
  readonly status: number
  readonly seconds: number
  readonly requestId: string
  /** The IP address of the client; empty if the connection was gone before anybody looked. */
  readonly address: string
  /** Who made it, proved or only claimed: a client ID at the token endpoint, a user id at the API. */
  readonly clientId?: string
  /** Why it was refused: an OAuth error code, the reason of an RPC error, or `aborted` if the client left half way. */
  readonly failure?: string
}

/** What a router needs. */
export interface RouterOptions {
  /** By exact path, without the query. */
  readonly routes: ReadonlyMap<string, Route>
  /** Answers what has no route. */
  readonly fallback: Handler
  /** Bodies that say they are longer are refused unread. In bytes. */
  readonly maxBodyBytes: number
  readonly log: Log
  readonly notes: RequestNotebook
  readonly onAnswered: (answered: Answered) => void
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** HTTP/2 lets through whatever looks like a method. */
const KNOWN_METHODS = new Set(METHODS)

/** Nothing was answered, because nobody waited any more. HTTP has no status for that; this one is nginx's. */
const CLIENT_LEFT = 499

/** There is nothing at this path. */
export const notFound: Handler = (_req, res) =>
  sendError(res, 404, { code: 'not_found', description: 'there is nothing at this address' })

/** Makes a handler of all routes. */
export function createRouter({ routes, fallback, maxBodyBytes, log, notes, onAnswered }: RouterOptions): Handler {
  return async (req, res) => {
    const startedAt = performance.now()
    notes.begin(req)
    const target = originForm(req.url ?? '')
    req.url = target
    const query = target.indexOf('?')
    const path = query < 0 ? target : target.slice(0, query)
    const route = routes.get(path)
    const name = route === undefined ? 'other' : path
    const requestId = identify(req, res)
    res.on('close', () => {
      if (!res.headersSent || !res.writableFinished) notes.refused(req, 'aborted')
      onAnswered({
        request: req,
        method: methodOf(req),
        route: name,
        status: res.headersSent ? res.statusCode : CLIENT_LEFT,
        seconds: (performance.now() - startedAt) / 1000,
        requestId,
        ...notes.about(req),
      })
    })

    // What is left of a body that was refused half way would keep the next request on the connection waiting.
    if (mayHaveBody(req)) res.on('finish', () => req.resume())

    try {
      await dispatch(req, res, { route, fallback, maxBodyBytes })
    } catch (error) {
      log.error({ err: error, requestId, path: name }, 'a request failed')
      notes.refused(req, 'server_error')
      if (res.headersSent) res.destroy()
      else sendError(res, 500, { code: 'server_error', description: `internal error, request id ${requestId}` })
    }
  }
}

/** Does not wait where the handler does not. */
function dispatch(
  req: IncomingMessage,
  res: ServerResponse,
  {
    route,
    fallback,
    maxBodyBytes,
  }: { readonly route: Route | undefined; readonly fallback: Handler; readonly maxBodyBytes: number },
): void | Promise<void> {
  res.setHeader('x-content-type-options', 'nosniff')
  if (route !== undefined && route.cors !== null) allowOrigin(res, route.cors)
  for (const [name, value] of Object.entries(route?.headers ?? {})) res.setHeader(name, value)
  if (req.httpVersion === '1.1' && req.headers.host === undefined) {
    return sendError(res, 400, { code: 'invalid_request', description: 'the Host header is missing' })
  }
  if (Number(req.headers['content-length'] ?? 0) > maxBodyBytes) return refuseBody(res, maxBodyBytes)
  if (route === undefined) return fallback(req, res)

  const { methods, cors } = route
  if (req.method === 'OPTIONS' && cors !== null) return answerPreflight(res, cors)
  const handler = req.method === 'POST' ? methods.POST : isRead(req) ? methods.GET : undefined
  if (handler === undefined) {
    const allow = [methods.GET && 'GET, HEAD', methods.POST && 'POST', cors && 'OPTIONS'].filter(Boolean).join(', ')
    return sendError(res, 405, { code: 'invalid_request', description: `use ${allow}` }, { allow })
  }
  return handler(req, res)
}

function methodOf({ method = '' }: IncomingMessage): string {
  return KNOWN_METHODS.has(method) ? method : 'other'
}

/** The id of a request, for logs here and at the client. One that the client gave is kept if it is harmless. */
function identify(req: IncomingMessage, res: ServerResponse): string {
  const given = req.headers['x-request-id']
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
  req.headers['x-request-id'] = requestId
  res.setHeader('x-request-id', requestId)
  return requestId
}

function refuseBody(res: ServerResponse, maxBodyBytes: number): void {
  const description = `the request body is longer than ${maxBodyBytes} bytes`
  // Node reads and drops the body, within the time that a request has. Closing the connection under a client that is
  // still sending would cost it the answer (RFC 9112 §9.6).
  sendError(res, 413, { code: 'invalid_request', description })
}

/** A server must take the absolute form of a target as well (RFC 9112 §3.2.2). */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const absolute = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)
  return absolute === null ? target : absolute[1] || '/'
}

/** In HTTP/2 nothing needs to announce a body. */
function mayHaveBody({ headers, httpVersionMajor }: IncomingMessage): boolean {
  const announced = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return announced || httpVersionMajor > 1
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
