/**
 * Checks the body framing of HTTP/1 requests (RFC 9112 §6.1), beyond what Node checks, against request smuggling: a proxy in front
 * could see the end of the body elsewhere.
 */
import type { IncomingMessage } from 'node:http'
import type { Refusal } from './exchange.ts'

/** Why a request must be refused and its connection closed; undefined if its framing is valid. */
export function framingProblem({
  httpVersion,
  headers,
}: Pick<IncomingMessage, 'httpVersion' | 'headers'>): Refusal | undefined {
  const encoding = headers['transfer-encoding']
  if (encoding === undefined) return undefined
  if (httpVersion !== '1.1') {
    return { status: 400, code: 'invalid_request', description: 'Transfer-Encoding is for HTTP/1.1 only' }
  }
  if (encoding.toLowerCase() === 'chunked') return undefined
  return { status: 501, code: 'invalid_request', description: 'the only Transfer-Encoding is chunked' }
}
