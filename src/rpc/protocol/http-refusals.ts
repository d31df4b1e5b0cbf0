/**
 * Responses to HTTP requests that do not become a call: Trailers-Only for gRPC, otherwise the HTTP status with the error of the
 * Connect protocol (JSON with `code` and `message`), also for unknown content types.
 */
import type { DescMethod } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import { encodeMessage } from './grpc-message.ts'

const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  403: Code.PermissionDenied,
  404: Code.Unimplemented,
  405: Code.Unimplemented,
  413: Code.ResourceExhausted,
  415: Code.InvalidArgument,
  500: Code.Internal,
  503: Code.Unavailable,
  505: Code.Unimplemented,
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

/** The base64 form, for browsers without binary responses (gRPC-Web, "Protocol differences vs gRPC over HTTP2"). */
const GRPC_WEB_TEXT = /^application\/grpc-web-text\b/i

/** The body of an error response. @param status The HTTP status; `unknown` is the code of any other than those above. */
export function connectRefusal(status: number, message: string): object {
  return { code: codeToString(codeOf(status)), message }
}

/** Whether a request is gRPC. Not gRPC-Web: its clients read the HTTP status. */
export function isGrpc(contentType: string | undefined): boolean {
  return /^application\/grpc(?:[+;]|$)/i.test(contentType ?? '')
}

/**
 * The headers of a gRPC response without a body ("gRPC over HTTP2", Trailers-Only). For an HTTP error status clients do not show the
 * message, and grpc-go reports `internal` if the stream ends in a separate frame.
 */
export function grpcRefusal(status: number, message: string): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/grpc',
    'grpc-status': String(codeOf(status)),
    'grpc-message': encodeMessage(message),
  }
}

/** The code for an HTTP status; `unknown` for any without one. */
export function codeOf(status: number): Code {
  return CODES[status] ?? Code.Unknown
}

interface RefusedRequest {
  readonly httpMethod: string
  readonly contentType: string | null
  readonly method: Pick<DescMethod, 'methodKind'>
}

/** The same response. Refusals of Connect's handlers have no body and get one that says what was expected. */
export function withRefusalBody(response: UniversalServerResponse, request: RefusedRequest): UniversalServerResponse {
  if (response.body !== undefined) return response
  const { status } = response
  const body = Buffer.from(JSON.stringify(connectRefusal(status, expectation(status, request))))
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
