/**
 * Middleware for Express and everything else with the requests and responses of `node:http`, for Fastify, and for Hono on each of its
 * platforms. A request without a good token is answered, and any other goes on with its token.
 */
import { type RefusalResponse, TokenRefusal } from './token-refusal.ts'
import type { Verifier } from './verifier.ts'

/** Of requests, responses and contexts there is here what is used of them. */
interface TokenHeaders {
  readonly authorization?: string | undefined
  readonly dpop?: string | string[] | undefined
}

export interface NodeRequest {
  readonly headers: TokenHeaders
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** Of Express, which shortens `url` below a mounted router. */
  readonly originalUrl?: string | undefined
}

export interface NodeResponse {
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

export interface FastifyRequestLike {
  readonly headers: TokenHeaders
  readonly method: string
  /** The path as the client sent it. */
  readonly originalUrl: string
}

export interface FastifyReplyLike {
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(body: string): unknown
}

export interface HonoContextLike {
  readonly req: { header(name: string): string | undefined; readonly method: string; readonly url: string }
}

/** For `app.use` or a route. */
export function expressMiddleware(
  verifier: Verifier,
): (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void) => void {
  return (request, response, next) => {
    const { headers, method = '', url = '/', originalUrl = url } = request
    const proved = { proof: headers.dpop, method, url: originalUrl }
    refusalOf(verifier.admit(request, headers.authorization, proved)).then((refused) => {
      if (refused === undefined) return next()
      response.statusCode = refused.status
      for (const [name, value] of Object.entries(refused.headers)) response.setHeader(name, value)
      response.end(refused.body)
    }, next)
  }
}

/** For `addHook('onRequest', …)` or a route's `onRequest`. */
export function fastifyHook(
  verifier: Verifier,
): (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown> {
  return async (request, reply) => {
    const { headers, method, originalUrl: url } = request
    const refused = await refusalOf(
      verifier.admit(request, headers.authorization, { proof: headers.dpop, method, url }),
    )
    if (refused === undefined) return undefined
    reply.code(refused.status)
    reply.headers(refused.headers)
    // An asynchronous hook that has answered returns the reply.
    return reply.send(refused.body)
  }
}

/** For `app.use`. */
export function honoMiddleware(
  verifier: Verifier,
): (context: HonoContextLike, next: () => Promise<void>) => Promise<Response | undefined> {
  return async (context, next) => {
    const { req } = context
    const proved = { proof: req.header('dpop'), method: req.method, url: req.url }
    const refused = await refusalOf(verifier.admit(context, req.header('authorization'), proved))
    if (refused !== undefined) return new Response(refused.body, refused)
    await next()
    return undefined
  }
}

async function refusalOf(admission: Promise<unknown>): Promise<RefusalResponse | undefined> {
  try {
    await admission
    return undefined
  } catch (error) {
    if (error instanceof TokenRefusal) return error.toResponse()
    throw error
  }
}
