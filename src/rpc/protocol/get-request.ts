/**
 * Connect's GET form of a call, with the message in the query, turned into its POST form.
 *
 * So that there is one way for a request body to be checked, decoded and refused.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import type { UniversalServerRequest } from '@connectrpc/connect/protocol'
import { invalidArgument } from '../messages/errors.ts'

const CONTENT_TYPES: Readonly<Record<string, string>> = { json: 'application/json', proto: 'application/proto' }

/** What the name of a compression looks like. */
const COMPRESSION = /^[\w.-]{1,32}$/

/**
 * The same call as POST, if it is one by GET. Anything else, and a GET that names no known encoding, is left alone. HEAD counts as
 * GET: Node leaves the body of the answer out (RFC 9110 §9.3.2).
 *
 * @param allowed Whether the method has no side effects, which GET is only for.
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
  // Headers take only bytes. Others are refused with the message, when the call has passed the gate.
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
  // Both alphabets, with or without padding, as Connect reads it. Buffer skips what is neither, so that is looked for.
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(message)) {
    throw refuse('the message in the query is not base64')
  }
  yield Buffer.from(message, 'base64')
}

function refuse(message: string): ConnectError {
  return invalidArgument(new ConnectError(message, Code.InvalidArgument))
}
