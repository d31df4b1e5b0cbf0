/**
 * A hook for Fastify.
 */
import { TokenRefusal } from './token-refusal.ts'
import type { Verifier } from './verifier.ts'

/** What is used of a request. */
export interface FastifyRequestLike {
  readonly headers: { readonly authorization?: string | undefined; readonly dpop?: string | string[] | undefined }
  readonly method: string
  /** The path as the client sent it. */
  readonly originalUrl: string
}

/** What is used of a reply. */
export interface FastifyReplyLike {
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(body: string): unknown
}

/** For `addHook('onRequest', …)` or a route's `onRequest`. A request without a good token is answered. */
export function fastifyHook(
  verifier: Verifier,
): (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown> {
  return async (request, reply) => {
    try {
      const { headers, method, originalUrl: url } = request
      await verifier.admit(request, headers.authorization, { proof: headers.dpop, method, url })
      return undefined
    } catch (error) {
      if (!(error instanceof TokenRefusal)) throw error
      const { status, headers, body } = error.toResponse()
      reply.code(status)
      reply.headers({ ...headers })
      // An asynchronous hook that has answered returns the reply.
      return reply.send(body)
    }
  }
}
