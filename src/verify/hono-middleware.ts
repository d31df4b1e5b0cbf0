/**
 * Middleware for Hono, on every platform that it runs on.
 */
import { TokenRefusal } from './token-refusal.ts'
import type { Verifier } from './verifier.ts'

/** What is used of a context. */
export interface HonoContextLike {
  readonly req: { header(name: string): string | undefined; readonly method: string; readonly url: string }
}

/** For `app.use`. A request without a good token is answered. */
export function honoMiddleware(
  verifier: Verifier,
): (context: HonoContextLike, next: () => Promise<void>) => Promise<Response | undefined> {
  return async (context, next) => {
    try {
      const { req } = context
      const proved = { proof: req.header('dpop'), method: req.method, url: req.url }
      await verifier.admit(context, req.header('authorization'), proved)
    } catch (error) {
      if (!(error instanceof TokenRefusal)) throw error
      const { status, headers, body } = error.toResponse()
      return new Response(body, { status, headers: { ...headers } })
    }
    await next()
    return undefined
  }
}
