/**
 * Finds the handler of a request and does what is the same for all of them: request id, size limit, CORS, and an answer
 * when a handler fails.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http'
import type { Log } from '../domain/ports.ts'
import { allowOrigin, answerPreflight, type CorsPolicy } from './cors.ts'
import { type Handler, sendError } from './exchange.ts'

/** What is at a path. A handler of GET answers HEAD as well and leaves the body out. */
export interface Route {
  readonly methods: Readonly<Partial<Record<'GET' | 'POST', Handler>>>
  /** Null: pages of other origins may not use it. */
  readonly cors: CorsPolicy | null
}

/** A request that has been answered, or that nobody waits for any more. */
export interface Answered {
  readonly request: IncomingMessage
  /** One that HTTP knows, or `other`. */
  readonly method: string
  /** The path of the route, or `other`; never what a client made up. */
  readonly route: string
  readonly status: number
  readonly seconds: number
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
  readonly onAnswered: (answered: Answered) => void
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** HTTP/2 lets through whatever looks like a method. */
const KNOWN_METHODS = new Set(METHODS)

/** There is nothing at this path. */
export const notFound: Handler = (_req, res) =>
  sendError(res, 404, { code: 'not_found', description: 'there is nothing at this address' })

/** Makes a handler of all routes. */
export function createRouter({ routes, fallback, maxBodyBytes, log, onAnswered }: RouterOptions): Handler {
  return async (req, res) => {
    const startedAt = performance.now()
    req.url = originForm(req.url ?? '')
    const path = req.url.split('?', 1)[0] ?? ''
    const route = routes.get(path)
    res.once('close', () => {
      const seconds = (performance.now() - startedAt) / 1000
      onAnswered({
        request: req,
        method: methodOf(req),
        route: route === undefined ? 'other' : path,
        status: res.statusCode,
        seconds,
      })
    })

    // What is left of a body that was refused half way would keep the next request on the connection waiting.
    res.once('finish', () => req.resume())

    const requestId = identify(req, res)
    try {
      await dispatch(req, res, { route, fallback, maxBodyBytes })
    } catch (error) {
      log.error({ err: error, requestId, path: route === undefined ? 'other' : path }, 'a request failed')
      if (res.headersSent) res.destroy()
      else sendError(res, 500, { code: 'server_error', description: `internal error, request id ${requestId}` })
    }
  }
}

async function dispatch(
  req: IncomingMessage,
  res: ServerResponse,
  {
    route,
    fallback,
    maxBodyBytes,
  }: { readonly route: Route | undefined; readonly fallback: Handler; readonly maxBodyBytes: number },
): Promise<void> {
  res.setHeader('x-content-type-options', 'nosniff')
  if (route !== undefined && route.cors !== null) allowOrigin(res, route.cors)
  if (Number(req.headers['content-length'] ?? 0) > maxBodyBytes) return refuseBody(res, maxBodyBytes)
  if (route === undefined) return fallback(req, res)

  const { methods, cors } = route
  if (req.method === 'OPTIONS' && cors !== null) return answerPreflight(res, cors)
  const handler = req.method === 'POST' ? methods.POST : isRead(req) ? methods.GET : undefined
  if (handler === undefined) {
    const allow = [methods.GET && 'GET, HEAD', methods.POST && 'POST', cors && 'OPTIONS'].filter(Boolean).join(', ')
    return sendError(res, 405, { code: 'invalid_request', description: `use ${allow}` }, { allow })
  }
  await handler(req, res)
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
  const absolute = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)
  return absolute === null ? target : absolute[1] || '/'
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
