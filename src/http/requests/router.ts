/**
 * Finds the handler of a request and does what is the same for all of them: request id, host, size limit, CORS, and an
 * answer when a handler fails.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http'
import type { Log } from '../../domain/ports.ts'
import { allowOrigin, answerPreflight, type CorsPolicy } from './cors.ts'
import {
  cutOff,
  type Handler,
  type Head,
  NO_SNIFFING,
  OVER_TLS,
  REQUEST_ID,
  type Refusal,
  type Refuse,
  refuse,
  setHead,
} from './exchange.ts'
import { hostProblem, type Origin } from './host.ts'
import type { RequestContexts } from './request-context.ts'

/** Answers a request. @param head What every answer of its route has. It is set already, unless the route says otherwise. */
export type RouteHandler = (req: IncomingMessage, res: ServerResponse, head: Head) => void | Promise<void>

/** Answers a request that has no route. @param refuse Refuses in the form of the protocol of its path. */
export type Fallback = (req: IncomingMessage, res: ServerResponse, refuse: Refuse) => void

/** What is at a path. A handler of GET answers HEAD as well and leaves the body out. */
export interface Route {
  readonly methods: Readonly<Partial<Record<'GET' | 'POST', RouteHandler>>>
  /** Null: pages of other origins may not use it. */
  readonly cors: CorsPolicy | null
  /** What every answer has, refusals of the router among them. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Whether the handlers send the headers that every answer has themselves, all at once with their own: setting one after
   * the other takes longer. Default false: they are set already.
   */
  readonly sendsHead?: boolean
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
  /** What the client calls its request (`x-request-id`), if that is harmless. */
  readonly clientRequestId?: string
  /** The IP address of the client; empty if the connection was gone before anybody looked. */
  readonly address: string
  /** Who made it, proved or only claimed: a client ID at the token endpoint, a user id at the API. */
  readonly clientId?: string
  /** Why it was refused: an OAuth error code, the reason of an RPC error, or `aborted` if the client left half way. */
  readonly failure?: string
  /** What exactly was wrong, in words of the server's own. */
  readonly detail?: string
}

/** What a router needs. */
export interface RouterOptions {
  /** By exact path, without the query. */
  readonly routes: ReadonlyMap<string, Route>
  /** Answers what has no route. */
  readonly fallback: Fallback
  /** Refuses in the form of the protocol of a path, whether there is a route or not. Default: that of OAuth everywhere. */
  readonly refuseAt?: (path: string) => Refuse
  /** Bodies that say they are longer are refused unread. In bytes. */
  readonly maxBodyBytes: number
  /** Whether requests come over TLS. Default false. */
  readonly secure?: boolean
  readonly log: Log
  readonly notes: RequestContexts
  readonly onAnswered: (answered: Answered) => void
}

/** What there is to know about a path before a request comes. */
interface Place {
  readonly name: string
  readonly route: Route | undefined
  /** What every answer there has, but for the id of the request. */
  readonly head: Head
}

const HARMLESS_ID = /^[A-Za-z0-9._-]{1,64}$/

/** A server must take the absolute form of a target as well (RFC 9112 §3.2.2). */
const ABSOLUTE_FORM = /^(https?):\/\/([^/?#]*)(.*)$/i

/** HTTP/2 lets through whatever looks like a method. */
const KNOWN_METHODS = new Set(METHODS)

/** Nothing was answered, because nobody waited any more. HTTP has no status for that; this one is nginx's. */
const CLIENT_LEFT = 499

/** There is nothing at this path. */
export const notFound: Fallback = (_req, res, refuse) =>
  refuse(res, { status: 404, code: 'not_found', description: 'there is nothing at this address' })

/** Makes a handler of all routes. */
export function createRouter(options: RouterOptions): Handler {
  const { routes, fallback, refuseAt = () => refuse, maxBodyBytes, secure = false, log, notes, onAnswered } = options
  const always = secure ? [...NO_SNIFFING, ...OVER_TLS] : NO_SNIFFING
  const places = new Map<string, Place>(
    [...routes].map(([path, route]) => [path, { name: path, route, head: [...always, ...headOf(route)] }]),
  )
  /** Every path that has no route. */
  const nowhere: Place = { name: 'other', route: undefined, head: always }
  return (req, res) => {
    const startedAt = performance.now()
    notes.begin(req)
    const given = req.url ?? ''
    const absolute = given.startsWith('/') ? null : ABSOLUTE_FORM.exec(given)
    const target = absolute === null ? given : originForm(absolute)
    req.url = target
    const query = target.indexOf('?')
    const path = query < 0 ? target : target.slice(0, query)
    const place = places.get(path) ?? nowhere
    const { name, route } = place
    const clientRequestId = idOfClient(req)
    // Ours, so that an id stands for one request, whatever clients send.
    const requestId = randomUUID()
    req.headers[REQUEST_ID] = requestId
    const head = [...place.head, REQUEST_ID, requestId]
    res.on('close', () => {
      if (!res.headersSent || !res.writableFinished) notes.refused(req, 'aborted')
      onAnswered({
        request: req,
        method: methodOf(req),
        route: name,
        status: res.headersSent ? res.statusCode : CLIENT_LEFT,
        seconds: (performance.now() - startedAt) / 1000,
        requestId,
        ...(clientRequestId === undefined ? {} : { clientRequestId }),
        ...notes.about(req),
      })
    })

    // What is left of a body that was refused half way would keep the next request on the connection waiting.
    if (mayHaveBody(req)) res.on('finish', () => req.resume())

    const fail = (error: unknown): void => {
      log.error({ err: error, requestId, path: name }, 'a request failed')
      notes.refused(req, 'server_error')
      if (res.headersSent) return void cutOff(res)
      setHead(res, head)
      const description = `internal error, request id ${requestId}`
      refuseAt(path)(res, { status: 500, code: 'server_error', description })
    }
    try {
      const origin = originOf(absolute)
      const answering = dispatch(req, res, { path, route, head, fallback, refuseAt, maxBodyBytes, origin })
      // Without `await`: it takes time also where there is nothing to wait for.
      return answering instanceof Promise ? answering.catch(fail) : undefined
    } catch (error) {
      fail(error)
    }
  }
}

/** Does not wait where the handler does not. */
function dispatch(
  req: IncomingMessage,
  res: ServerResponse,
  {
    path,
    route,
    head,
    fallback,
    refuseAt,
    maxBodyBytes,
    origin,
  }: {
    readonly path: string
    readonly route: Route | undefined
    readonly head: Head
    readonly fallback: Fallback
    readonly refuseAt: (path: string) => Refuse
    readonly maxBodyBytes: number
    readonly origin: Origin | undefined
  },
): void | Promise<void> {
  const handler = route === undefined ? undefined : handlerOf(route, req)
  const badHost = hostProblem(req, origin)
  const isTooLong = Number(req.headers['content-length'] ?? 0) > maxBodyBytes
  if (route?.sendsHead === true && handler !== undefined && badHost === undefined && !isTooLong)
    return handler(req, res, head)

  setHead(res, head)
  const refuse = refuseAt(path)
  if (badHost !== undefined) return refuse(res, { status: 400, code: 'invalid_request', description: badHost })
  // Node reads and drops the body, within the time that a request has. Closing the connection under a client that is
  // still sending would cost it the answer (RFC 9112 §9.6).
  if (isTooLong) return refuse(res, tooLong(maxBodyBytes))
  if (handler !== undefined) return handler(req, res, head)
  if (route === undefined) return fallback(req, res, refuse)
  const { methods, cors } = route
  if (req.method === 'OPTIONS' && cors !== null) return answerPreflight(res, cors)
  const allow = [methods.GET && 'GET, HEAD', methods.POST && 'POST', cors && 'OPTIONS'].filter(Boolean).join(', ')
  return refuse(res, { status: 405, code: 'invalid_request', description: `use ${allow}`, headers: { allow } })
}

function handlerOf({ methods }: Route, req: IncomingMessage): RouteHandler | undefined {
  if (req.method === 'POST') return methods.POST
  return isRead(req) ? methods.GET : undefined
}

/** What every answer of a route has, but for what all answers have. */
function headOf({ cors, headers = {} }: Route): Head {
  return [...(cors === null ? [] : allowOrigin(cors)), ...Object.entries(headers).flat()]
}

function methodOf({ method = '' }: IncomingMessage): string {
  return KNOWN_METHODS.has(method) ? method : 'other'
}

/** The id that a client has given its request, if it is short and plain enough for a log. */
function idOfClient({ headers }: IncomingMessage): string | undefined {
  const given = headers[REQUEST_ID]
  return typeof given === 'string' && HARMLESS_ID.test(given) ? given : undefined
}

function tooLong(maxBodyBytes: number): Refusal {
  const description = `the request body is longer than ${maxBodyBytes} bytes`
  return { status: 413, code: 'invalid_request', description }
}

/** The path and the query of a target in absolute form (RFC 9110 §4.2.3: no path is the same as "/"). */
function originForm([, , , rest = '']: RegExpExecArray): string {
  return rest.startsWith('/') ? rest : `/${rest}`
}

function originOf(absolute: RegExpExecArray | null): Origin | undefined {
  if (absolute === null) return undefined
  const [, scheme = '', authority = ''] = absolute
  return { scheme: scheme.toLowerCase(), authority }
}

/** In HTTP/2 nothing needs to announce a body. */
function mayHaveBody({ headers, httpVersionMajor }: IncomingMessage): boolean {
  const announced = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return announced || httpVersionMajor > 1
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
