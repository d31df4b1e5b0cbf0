/**
 * Connect's GET form of a call, with the message in the query, turned into its POST form.
 *
 * So that there is one way for a request body to be checked, decoded and refused.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import type { UniversalServerRequest } from '@connectrpc/connect/protocol'
import { invalidArgument } from './errors.ts'

const CONTENT_TYPES: Readonly<Record<string, string>> = { json: 'application/json', proto: 'application/proto' }

/**
 * The same call as POST, if it is one by GET. Anything else, and a GET that names no known encoding, is left alone. HEAD counts as
 * GET: Node leaves the body of the answer out (RFC 9110 §9.3.2).
 *
 * @param allowed Whether the method has no side effects, which GET is only for.
 */
export function asPost(original: UniversalServerRequest, allowed: boolean): UniversalServerRequest {
  const request = original.method === 'HEAD' ? { ...original, method: 'GET' } : original
  const query = new URL(request.url).searchParams
  const contentType = CONTENT_TYPES[query.get('encoding') ?? '']
  if (request.method !== 'GET' || !allowed || contentType === undefined) return request

  const header = new Headers(request.header)
  header.set('content-type', contentType)
  const compression = query.get('compression')
  if (compression !== null) header.set('content-encoding', compression)
  return { ...request, method: 'POST', header, body: messageOf(query) }
}

async function* messageOf(query: URLSearchParams): AsyncIterable<Uint8Array> {
  const message = query.get('message') ?? ''
  if (query.get('base64') !== '1') {
    yield Buffer.from(message)
    return
  }
  // Both alphabets, with or without padding, as Connect reads it. Buffer skips what is neither, so that is looked for.
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(message)) {
    throw invalidArgument(new ConnectError('the message in the query is not base64', Code.InvalidArgument))
  }
  yield Buffer.from(message, 'base64')
}
