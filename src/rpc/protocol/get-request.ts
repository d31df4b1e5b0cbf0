/**
 * Converts a call by GET (Connect, "Unary-Get-Request") to POST, so that one code path checks, decodes and refuses the message.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import type { UniversalServerRequest } from '@connectrpc/connect/protocol'
import { invalidArgument } from '../messages/errors.ts'

const CONTENT_TYPES: Readonly<Record<string, string>> = { json: 'application/json', proto: 'application/proto' }

/** The syntax of the name of a compression. */
const COMPRESSION = /^[\w.-]{1,32}$/

/**
 * The same call as POST, if it is a GET with a known encoding. Other requests are unchanged, except that HEAD becomes GET: Node omits
 * the body of the response (RFC 9110 §9.3.2).
 *
 * @param allowed Whether the method has no side effects. Only those may be called by GET.
 */
export function asPost(request: UniversalServerRequest, allowed: boolean): UniversalServerRequest {
  const query = new URL(request.url).searchParams
  const encoding = query.get('encoding') ?? ''
  const contentType = Object.hasOwn(CONTENT_TYPES, encoding) ? CONTENT_TYPES[encoding] : undefined
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead || !allowed) return request
  if (contentType === undefined) return { ...request, method: 'GET' }

  const header = new Headers(request.header)
  header.set('content-type', contentType)
  const compression = query.get('compression')
  // A name that a header cannot hold is refused when the message is read, after the gate.
  if (compression !== null && COMPRESSION.test(compression)) header.set('content-encoding', compression)
  return { ...request, method: 'POST', header, body: messageOf(query) }
}

async function* messageOf(query: URLSearchParams): AsyncIterable<Uint8Array> {
  if (!COMPRESSION.test(query.get('compression') ?? 'identity')) throw refuse('the compression in the query is no name')
  const message = query.get('message') ?? ''
  if (query.get('base64') !== '1') {
    yield Buffer.from(message)
    return
  }
  // Both alphabets, with or without padding, as in Connect. Buffer ignores other characters, so they are checked here.
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(message)) {
    throw refuse('the message in the query is not base64')
  }
  yield Buffer.from(message, 'base64')
}

function refuse(message: string): ConnectError {
  return invalidArgument(new ConnectError(message, Code.InvalidArgument))
}
