/**
 * Checks how a request of HTTP/1 says where its body ends (RFC 9112 §6.1), beyond what Node checks itself. Where two servers could
 * disagree about that, the rest of the connection could be another request to one of them, so it is closed.
 */
import type { IncomingMessage } from 'node:http'
import type { Refusal } from './exchange.ts'

/** Why a request is refused, and its connection closed; undefined if its framing is good. */
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
