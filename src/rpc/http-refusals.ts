/**
 * Answers to HTTP requests that do not become a call: the error of the Connect protocol (JSON with `code` and `message`), whichever
 * protocol the client speaks. Clients of gRPC and gRPC-Web go by the HTTP status ("HTTP to gRPC Status Code Mapping").
 */
import type { DescMethod } from '@bufbuild/protobuf'
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol'

/** The code for each HTTP status. */
const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_argument',
  404: 'unimplemented',
  405: 'unimplemented',
  413: 'resource_exhausted',
  415: 'invalid_argument',
  500: 'internal',
  503: 'unavailable',
  505: 'unimplemented',
}

const GRPC_TYPES = [
  'application/grpc',
  'application/grpc+proto',
  'application/grpc+json',
  'application/grpc-web',
  'application/grpc-web+proto',
  'application/grpc-web+json',
]

const UNARY_TYPES = ['application/json', 'application/proto', ...GRPC_TYPES].join(', ')
const STREAM_TYPES = ['application/connect+json', 'application/connect+proto', ...GRPC_TYPES].join(', ')

/** Base64, which browsers without binary responses needed (gRPC-Web, "Protocol differences vs gRPC over HTTP2"). */
const GRPC_WEB_TEXT = /^application\/grpc-web-text\b/i

/** The body of an error answer. @param status Of HTTP. One without a code of its own has `unknown`. */
export function refusalBody(status: number, message: string): object {
  return { code: CODES[status] ?? 'unknown', message }
}

/** What was asked for. */
interface RefusedRequest {
  readonly httpMethod: string
  readonly contentType: string | null
  readonly method: Pick<DescMethod, 'methodKind'>
}

/** The same response, with a body that says what was expected if it has none, as refusals of Connect's handlers. */
export function withRefusalBody(response: UniversalServerResponse, request: RefusedRequest): UniversalServerResponse {
  if (response.body !== undefined) return response
  const { status } = response
  const body = Buffer.from(JSON.stringify(refusalBody(status, expectation(status, request))))
  const header = new Headers(response.header)
  header.set('content-type', 'application/json')
  header.set('content-length', String(body.byteLength))
  // RFC 9110 §12.5.1
  if (status === 415) header.set('accept', typesOf(request.method))
  return { ...response, header, body: createAsyncIterable([body]) }
}

function expectation(status: number, { httpMethod, contentType, method }: RefusedRequest): string {
  if (status === 505) return 'this method streams in both directions, which takes HTTP/2'
  if (httpMethod !== 'POST') return 'a call by GET takes the query parameters encoding (json or proto) and message'
  if (GRPC_WEB_TEXT.test(contentType ?? '')) {
    return 'gRPC-Web is served in its binary form only: use the content type application/grpc-web+proto'
  }
  return `use one of the content types ${typesOf(method)}`
}

function typesOf({ methodKind }: Pick<DescMethod, 'methodKind'>): string {
  return methodKind === 'unary' ? UNARY_TYPES : STREAM_TYPES
}
