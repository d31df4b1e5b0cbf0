/**
 * The OAuth endpoints as request handlers, one for each path.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestContext } from '../domain/ports.ts'
import { isUnchanged, type PublishedDocument } from './documents/published-document.ts'
import type { Head } from './head.ts'
import { isEncoded, refuseEncoding } from './token/encoded-form.ts'
import type { TokenService } from './token-service.ts'
import { answerUnavailable } from './unavailable.ts'

/** What the endpoints need. */
export interface OAuthRoutesOptions {
  readonly service: Pick<TokenService, 'current' | 'discovery' | 'token'>
  /** How long clients may reuse the key set, in seconds (Spec §8). */
  readonly jwksMaxAgeSeconds: number
  /** Whether what this replica knows is recent enough to be served. */
  readonly isFresh: () => boolean
  /** How long ago the database confirmed what this replica knows, in seconds. */
  readonly stalenessSeconds: () => number
  readonly notes: Pick<RequestContext, 'refused'>
}

/** Answers a request, and sends the headers of `head` with its own. */
type Handler = (req: IncomingMessage, res: ServerResponse, head: Head) => void | Promise<void>

/** The handlers of the endpoints. */
export interface OAuthRoutes {
  /** `POST` (Spec §4.1). Answers 503 while no key is active (Spec §3 rule 2). */
  readonly token: Handler
  /** `GET` (Spec §4.2), for all addresses of the key set. */
  readonly jwks: Handler
  /** `GET`, for both discovery addresses. */
  readonly discovery: Handler
}

/** Makes the handlers. */
export function createOAuthRoutes(options: OAuthRoutesOptions): OAuthRoutes {
  const { service, jwksMaxAgeSeconds, isFresh, stalenessSeconds, notes } = options
  const cacheControl = `public, max-age=${jwksMaxAgeSeconds}, must-revalidate`
  const document = (pick: () => PublishedDocument): Handler => {
    return (req, res, head) => {
      if (!isFresh()) return answerUnavailable(req, res, { head, notes })
      const { etag, body } = pick()
      const always = [...head, 'cache-control', cacheControl, ...ageOf(stalenessSeconds()), 'etag', etag]
      if (isUnchanged(req.headers['if-none-match'], etag)) res.writeHead(304, always).end()
      else sendBody(req, res, body, always)
    }
  }
  return {
    token: (req, res, head) => {
      if (isEncoded(req)) return refuseEncoding(req, res, { head, notes })
      if (!isFresh()) return answerUnavailable(req, res, { head, notes })
      announceBody(req)
      // The engine would refuse a request with an origin, even one with the right secret. Pages of other origins cannot
      // read the answer, because nothing in it allows them to.
      delete req.headers.origin
      // The engine sets `Cache-Control: no-store`; RFC 6749 §5.1 asks for this one as well.
      return service.token(req, res, [...head, 'pragma', 'no-cache'])
    },
    jwks: document(() => service.current.keySet),
    discovery: document(() => service.discovery),
  }
}

/**
 * The engine looks for a body only if a header of HTTP/1.1 announces one. In HTTP/2 there need not be any.
 */
function announceBody(req: IncomingMessage): void {
  if (req.httpVersionMajor > 1 && req.headers['content-length'] === undefined) {
    req.headers['transfer-encoding'] = 'chunked'
  }
}

/**
 * A replica is a cache of the database, so it says how old its answer is (RFC 9111 §5.1). Without that, what it serves
 * while the database is away would be kept for the whole of `max-age` from now on, and a verifier could know a key set
 * that is older than `max-age` says: by up to as long as a replica goes on alone.
 */
function ageOf(stalenessSeconds: number): Head {
  const age = Math.floor(stalenessSeconds)
  return age >= 1 ? ['age', String(age)] : []
}

function sendBody(req: IncomingMessage, res: ServerResponse, body: string, head: readonly string[]): void {
  const content = ['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)]
  res.writeHead(200, [...head, ...content])
  if (req.method === 'HEAD') res.end()
  else res.end(body, 'latin1')
}
