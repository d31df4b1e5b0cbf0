/**
 * What all handlers of requests share: their type, common headers, JSON responses and refusals.
 *
 * Handlers are written for Node's HTTP/1.1 objects. The HTTP/2 objects are compatible with the members that handlers use.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerResponse } from 'node:http2'
import type { HeaderList } from '../../domain/http-headers.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'

/** HTTP Strict Transport Security for a year. Over TLS only (RFC 6797 §7.2). */
export const HSTS: HeaderList = ['strict-transport-security', 'max-age=31536000']

/** Keeps browsers from guessing another content type. */
export const NO_SNIFF: HeaderList = ['x-content-type-options', 'nosniff']

/** The header with the id of a request. The router sets it in the request and in the response. */
export const REQUEST_ID = 'x-request-id'

export type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>

/** What the audit trail keeps of a request itself. */
export function originOf(req: IncomingMessage, contexts: Pick<RequestContext, 'addressOf'>) {
  return { requestId: String(req.headers[REQUEST_ID] ?? ''), clientAddress: contexts.addressOf(req) }
}

/** Sends a JSON response that must not be cached. */
export function sendJson(
  res: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(JSON.stringify(body))
  res.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
    'cache-control': 'no-store',
    pragma: 'no-cache',
    ...headers,
  })
  if (res.req.method === 'HEAD') res.end()
  else res.end(bytes)
}

export interface Refusal {
  readonly status: number
  /** For programs: a word of a fixed list. */
  readonly code: string
  /** For people: what was wrong and what to do. */
  readonly description: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a refusal in the error format of a protocol. */
export type Refuse = (res: ServerResponse, refusal: Refusal) => void

/** The error format of OAuth (RFC 6749 §5.2), also of paths without a protocol of their own. */
export const refuse: Refuse = (res, { status, code, description, headers }) =>
  sendJson(res, status, { error: code, error_description: description }, headers)

/** Aborts a response. A destroyed HTTP/2 response would look complete to its client, so its stream is reset. */
export function cutOff(res: ServerResponse | Http2ServerResponse): void {
  if ('stream' in res) res.stream.close(constants.NGHTTP2_CANCEL)
  else res.destroy()
}
