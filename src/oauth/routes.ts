/**
 * The request handlers of the OAuth endpoints and of the description of the API.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isUnchanged } from '../domain/entity-tag.ts'
import type { HeaderList } from '../domain/header-list.ts'
import type { RequestContext } from '../domain/ports/runtime.ts'
import type { PublishedDocument } from './documents/published-document.ts'
import { createSendUnavailable } from './error-responses.ts'
import { createProviderEndpoint, createTokenEndpoint, type OAuthHandler } from './token/token-endpoint.ts'
import type { TokenService } from './token-service.ts'

/** What the endpoints need. */
export interface OAuthRoutesOptions {
  readonly service: Pick<TokenService, 'current' | 'discovery' | 'protectedResource' | 'fastPath'>
  /** The description of the API. */
  readonly openApi: PublishedDocument
  /** How long clients may cache the key set, in seconds (Spec §8). */
  readonly jwksMaxAgeSeconds: number
  /** Whether this replica's state is recent enough to be served. */
  readonly isFresh: () => boolean
  /** How long ago the database confirmed this replica's state, in seconds. */
  readonly stalenessSeconds: () => number
  readonly contexts: Pick<RequestContext, 'refused'>
}

/** The handlers of the endpoints. */
export interface OAuthRoutes {
  /** `POST` (Spec §4.1). Answers 503 while no key is active (Spec §3 rule 2). */
  readonly token: OAuthHandler
  /** `POST` (RFC 7662 §2.1). Like `token`. */
  readonly introspection: OAuthHandler
  /** `POST` (RFC 7009 §2.1). Like `token`. */
  readonly revocation: OAuthHandler
  /** `GET` (Spec §4.2), for all addresses of the key set. */
  readonly jwks: OAuthHandler
  /** `GET`, for both discovery addresses. */
  readonly discovery: OAuthHandler
  /** `GET` (RFC 9728 §3.1). */
  readonly protectedResource: OAuthHandler
  /** `GET`. */
  readonly openApi: OAuthHandler
}

/** Makes the handlers. */
export function createOAuthRoutes(options: OAuthRoutesOptions): OAuthRoutes {
  const { service, openApi, jwksMaxAgeSeconds, isFresh, stalenessSeconds, contexts } = options
  const cacheControl = `public, max-age=${jwksMaxAgeSeconds}, must-revalidate`
  const sendUnavailable = createSendUnavailable(contexts)
  const document = (pick: () => PublishedDocument): OAuthHandler => {
    return (req, res, headers) => {
      if (!isFresh()) return sendUnavailable(req, res, headers)
      const { etag, body } = pick()
      const always = [...headers, 'cache-control', cacheControl, ...ageOf(stalenessSeconds()), 'etag', etag]
      if (isUnchanged(req.headers['if-none-match'], etag)) res.writeHead(304, always).end()
      else sendDocument(req, res, body, always)
    }
  }
  const endpoint = { issuing: () => service.current.issuing, isFresh, contexts }
  return {
    token: createTokenEndpoint({ ...endpoint, fastPath: service.fastPath }),
    introspection: createProviderEndpoint(endpoint),
    revocation: createProviderEndpoint(endpoint),
    jwks: document(() => service.current.keySet),
    discovery: document(() => service.discovery),
    protectedResource: document(() => service.protectedResource),
    openApi: document(() => openApi),
  }
}

/**
 * `Age` (RFC 9111 §5.1): a replica is a cache of the database. Without it, caches would keep a stale document for the whole of
 * `max-age`, and a verifier's key set could be older than that by the replica's staleness.
 */
function ageOf(stalenessSeconds: number): HeaderList {
  const age = Math.floor(stalenessSeconds)
  return age >= 1 ? ['age', String(age)] : []
}

function sendDocument(
  req: IncomingMessage,
  res: ServerResponse,
  body: PublishedDocument['body'],
  headers: HeaderList,
): void {
  const content = ['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)]
  res.writeHead(200, [...headers, ...content])
  if (req.method === 'HEAD') res.end()
  else res.end(body, 'latin1')
}
