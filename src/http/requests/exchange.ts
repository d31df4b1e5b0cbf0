/**
 * One request and its answer, over HTTP/1.1 or HTTP/2.
 *
 * Node's HTTP/2 objects have what handlers use of the HTTP/1.1 ones, so handlers are written for the latter.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerResponse } from 'node:http2'

/** Headers in the flat form of `writeHead`: a name, its value, the next name. */
export type Head = readonly string[]

/** Makes browsers stay with https for a year. Only over TLS: RFC 6797 §7.2 forbids it elsewhere. */
export const OVER_TLS: Head = ['strict-transport-security', 'max-age=31536000']

/** Keeps browsers from guessing another content type. */
export const NO_SNIFFING: Head = ['x-content-type-options', 'nosniff']

/** Header with the id that each request has, in the request for its handler and in the answer. */
export const REQUEST_ID = 'x-request-id'

/** Answers a request. */
export type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>

/** Sets headers that are sent with whatever answer comes. */
export function setHead(res: ServerResponse, head: Head): void {
  for (let i = 0; i < head.length; i += 2) res.setHeader(head[i] as string, head[i + 1] as string)
}

/** Sends a JSON body and ends the answer. */
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

/** Why a request is refused. */
export interface Refusal {
  /** Of HTTP. */
  readonly status: number
  /** A word for programs. */
  readonly code: string
  /** What was expected, for people. */
  readonly description: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Refuses a request in the form of a protocol. */
export type Refuse = (res: ServerResponse, refusal: Refusal) => void

/** The form of OAuth (RFC 6749 §5.2), which paths without a protocol of their own have too. */
export const refuse: Refuse = (res, refusal) => sendJson(res, refusal.status, errorBody(refusal), refusal.headers)

/** The body of a refusal in the form of OAuth. */
export function errorBody({ code, description }: Refusal): object {
  return { error: code, error_description: description }
}

/** Ends an answer that its client does not get whole. A destroyed one of HTTP/2 would look complete, so its stream is reset. */
export function cutOff(res: ServerResponse | Http2ServerResponse): void {
  if ('stream' in res) res.stream.close(constants.NGHTTP2_CANCEL)
  else res.destroy()
}
