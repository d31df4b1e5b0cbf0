/**
 * Middleware for Express, and for everything else with the requests and responses of `node:http`.
 */
import { TokenRefusal } from './token-refusal.ts'
import type { Verifier } from './verifier.ts'

/** What is used of a request. */
export interface NodeRequest {
  readonly headers: { readonly authorization?: string | undefined; readonly dpop?: string | string[] | undefined }
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** Of Express, which shortens `url` below a mounted router. */
  readonly originalUrl?: string | undefined
}

/** What is used of a response. */
export interface NodeResponse {
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/** For `app.use` or a route. A request without a good token is answered, and any other goes on with its token. */
export function expressMiddleware(
  verifier: Verifier,
): (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void) => void {
  return (request, response, next) => {
    const { headers, method = '', url = '/', originalUrl = url } = request
    verifier.admit(request, headers.authorization, { proof: headers.dpop, method, url: originalUrl }).then(
      () => next(),
      (error: unknown) => {
        if (!(error instanceof TokenRefusal)) return next(error)
        const { status, headers, body } = error.toResponse()
        response.statusCode = status
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
        response.end(body)
      },
    )
  }
}
