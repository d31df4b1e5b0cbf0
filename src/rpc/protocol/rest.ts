/**
 * Requests that become a call by POST, so that one code path checks, decodes and refuses the message: calls by GET (Connect,
 * "Unary-Get-Request"), and unary methods at REST paths, in the JSON of a gRPC gateway (AIP-127), with errors as `google.rpc.Status`.
 */
import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  createAsyncIterable,
  readAllBytes,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol'
import { codeFromString } from '@connectrpc/connect/protocol-connect'
import { invalidArgument } from '../messages/errors.ts'
import { codeOf } from './http-refusals.ts'

export interface RestBinding {
  readonly httpMethod: 'GET' | 'POST' | 'DELETE'
  /** A path in which one segment may be `{id}`, the field `id` of the request. */
  readonly path: string
  readonly method: DescMethod & { readonly parent: DescService }
  /** Whether the body of the request is the message. Otherwise it is ignored. */
  readonly hasBody: boolean
}

/**
 * The same call as POST, if it is a GET with a known encoding. Other requests are unchanged, except that HEAD becomes GET: Node omits
 * the body of the response (RFC 9110 §9.3.2).
 */
export function asPost(request: UniversalServerRequest): UniversalServerRequest {
  if (request.method !== 'GET' && request.method !== 'HEAD') return request
  const query = new URL(request.url).searchParams
  const encoding = query.get('encoding')
  if (encoding !== 'json' && encoding !== 'proto') return { ...request, method: 'GET' }
  const header = new Headers(request.header)
  header.set('content-type', `application/${encoding}`)
  const compression = query.get('compression')
  // A header cannot hold every text.
  if (compression) header.set('content-encoding', /^[\w.-]+$/.test(compression) ? compression : 'invalid')
  const message = query.get('message') ?? ''
  const read = () => (query.get('base64') === '1' ? base64Decode(message) : Buffer.from(message))
  return { ...request, method: 'POST', header, body: bodyOf(read, 'the message in the query is not base64') }
}

export function toCall(request: UniversalServerRequest, { path, hasBody }: RestBinding): UniversalServerRequest {
  const header = new Headers(request.header)
  header.set('content-type', 'application/json')
  if (hasBody) return { ...request, method: 'POST', header }
  // They are about the body that is ignored.
  for (const name of ['content-encoding', 'content-length']) header.delete(name)
  const segment = new URL(request.url).pathname.split('/')[path.split('/').indexOf('{id}')]
  const message = () => Buffer.from(JSON.stringify({ id: segment && decodeURIComponent(segment) }))
  return { ...request, method: 'POST', header, body: bodyOf(message, 'the path is not percent-encoded UTF-8') }
}

/** It is read after the gate. @param problem What it means that `read` throws. */
async function* bodyOf(read: () => Uint8Array, problem: string): AsyncIterable<Uint8Array> {
  let bytes: Uint8Array
  try {
    bytes = read()
  } catch {
    throw invalidArgument(new ConnectError(problem, Code.InvalidArgument))
  }
  yield bytes
}

interface ConnectBody {
  readonly code: string
  readonly message?: string
  readonly details?: readonly { readonly type: string; readonly debug?: object }[]
}

/** The same response; an error has the body of a `google.rpc.Status`. */
export async function toRestResponse(response: UniversalServerResponse): Promise<UniversalServerResponse> {
  if (response.status < 400 || response.body === undefined) return response
  const json = Buffer.from(await readAllBytes(response.body, Number.MAX_SAFE_INTEGER)).toString()
  const { code, message = '', details = [] }: ConnectBody = JSON.parse(json)
  const status = {
    code: codeFromString(code) ?? Code.Unknown,
    message,
    details: details.map(({ type, debug }) => ({ '@type': `type.googleapis.com/${type}`, ...debug })),
  }
  const body = Buffer.from(JSON.stringify(status))
  const header = new Headers(response.header)
  header.set('content-length', String(body.byteLength))
  return { ...response, header, body: createAsyncIterable([body]) }
}

export function restRefusal(status: number, message: string): object {
  return { code: codeOf(status), message, details: [] }
}
