/**
 * The token endpoint (Spec §4.1): the steps of a token request, most of which are answered on the fast path.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type HeaderList, setHeaders } from '../../domain/header-list.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { createRefuseCoding, createSendUnavailable } from '../error-responses.ts'
import type { FastPath, Granted } from './fast-path.ts'
import { hasContentCoding } from './form-body.ts'

/** Answers a request. @param headers Are sent with the response's own. */
export type OAuthHandler = (req: IncomingMessage, res: ServerResponse, headers: HeaderList) => void | Promise<void>

/** What issues tokens with one key ring. */
export interface Issuing {
  /** The request handler of oidc-provider. */
  readonly provider: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  /** Issues a token for the fast path. @returns The body of the response, in ASCII. */
  readonly issue: (granted: Granted) => Promise<string>
}

/** What the token endpoint needs. */
export interface TokenEndpointOptions {
  readonly fastPath: FastPath
  /**
   * Of the newest key ring; null while no key can sign. Called after a small form has been read, so that a key that was replaced or
   * revoked meanwhile signs no more. The provider reads all other forms, and signs no more with a key that has been revoked meanwhile.
   */
  readonly issuing: () => Issuing | null
  /** Whether this replica's state is recent enough. */
  readonly isFresh: () => boolean
  readonly contexts: Pick<RequestContext, 'refused'>
}

/** Of every response with a token, like those of oidc-provider. */
const TOKEN_HEADERS: HeaderList = [
  'vary',
  'Origin',
  'cache-control',
  'no-store',
  'content-type',
  'application/json; charset=utf-8',
]

/** RFC 6749 §5.1. oidc-provider sets `Cache-Control: no-store` alone. */
const NO_CACHE: HeaderList = ['pragma', 'no-cache']

/** Makes the handler of `POST`. */
export function createTokenEndpoint({ fastPath, issuing, isFresh, contexts }: TokenEndpointOptions): OAuthHandler {
  const refuseCoding = createRefuseCoding(contexts)
  const sendUnavailable = createSendUnavailable(contexts)
  return async (req, res, headers) => {
    if (hasContentCoding(req)) return refuseCoding(req, res, headers)
    if (!isFresh()) return sendUnavailable(req, res, headers)
    const outcome = await fastPath(req)
    if (outcome === 'client_left') return
    const current = issuing()
    if (current === null || outcome === 'unavailable') return sendUnavailable(req, res, headers)
    if (outcome === undefined) return callProvider(current, req, res, headers)
    sendToken(res, headers, await current.issue(outcome))
  }
}

/** Makes the handler of `POST` at an endpoint whose requests oidc-provider answers. */
export function createProviderEndpoint(options: Omit<TokenEndpointOptions, 'fastPath'>): OAuthHandler {
  return createTokenEndpoint({ ...options, fastPath: NO_FAST_PATH })
}

const NO_FAST_PATH: FastPath = async () => undefined

function callProvider(
  { provider }: Issuing,
  req: IncomingMessage,
  res: ServerResponse,
  headers: HeaderList,
): Promise<void> {
  announceBody(req)
  // oidc-provider would refuse a request with an origin, even with the right secret. A page of another origin cannot read the
  // response anyway, because it has no CORS headers.
  delete req.headers.origin
  setHeaders(res, headers)
  setHeaders(res, NO_CACHE)
  return provider(req, res)
}

/** oidc-provider reads a body only if a header of HTTP/1.1 announces it. A body of HTTP/2 needs no header. */
function announceBody(req: IncomingMessage): void {
  if (req.httpVersionMajor > 1 && req.headers['content-length'] === undefined) {
    req.headers['transfer-encoding'] = 'chunked'
  }
}

/** Sends a text, which goes out in one write with the headers. */
function sendToken(res: ServerResponse, headers: HeaderList, body: string): void {
  res.writeHead(200, [...headers, ...NO_CACHE, ...TOKEN_HEADERS, 'content-length', String(body.length)])
  res.end(body, 'latin1')
}
