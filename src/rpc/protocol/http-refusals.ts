/**
 * Responses to HTTP requests that do not become a call: Trailers-Only for gRPC, otherwise the HTTP status with the error of the
 * Connect protocol (JSON with `code` and `message`), also for unknown content types.
 */
import type { DescMethod } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol'
import { codeToString } from '@connectrpc/connect/protocol-connect'

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
    'grpc-message': readable(encodeURIComponent(message)),
  }
}

export function codeOf(status: number): Code {
  return CODES[status] ?? Code.Unknown
}

/** The same response. Refusals of Connect's handlers have no body and get one that says what was expected. */
export function withRefusalBody(
  response: UniversalServerResponse,
  { httpMethod, method }: { readonly httpMethod: string; readonly method: Pick<DescMethod, 'methodKind'> },
): UniversalServerResponse {
  if (response.body !== undefined) return response
  const { status } = response
  const own = method.methodKind === 'unary' ? 'application/' : 'application/connect+'
  const types = `${own}json, ${own}proto, application/grpc, application/grpc-web`
  let message = `use one of the content types ${types}`
  if (status === 505) message = 'this method streams in both directions, which takes HTTP/2'
  else if (httpMethod !== 'POST')
    message = 'a call by GET takes the query parameters encoding (json or proto) and message'
  const body = Buffer.from(JSON.stringify(connectRefusal(status, message)))
  const header = new Headers(response.header)
  header.set('content-type', 'application/json')
  header.set('content-length', String(body.byteLength))
  // RFC 9110 §12.5.1
  if (status === 415) header.set('accept', types)
  return { ...response, header, body: createAsyncIterable([body]) }
}

/**
 * The same response, with `grpc-message` in the encoding of gRPC ("gRPC over HTTP2", Responses): only bytes outside %x20-%x7E, and the percent
 * sign, are percent-encoded. Connect encodes separators too, which clients leave encoded that decode with a function for whole URIs, like
 * @grpc/grpc-js.
 */
export function withReadableMessage(response: UniversalServerResponse): UniversalServerResponse {
  const { body, trailer } = response
  if (body === undefined || trailer === undefined) return response
  const rewritten = async function* () {
    yield* body
    // Connect fills the trailer when the body ends.
    const message = trailer.get('grpc-message')
    if (message !== null) trailer.set('grpc-message', readable(message))
  }
  return { ...response, body: rewritten() }
}

/** Without the escapes of bytes from %x20 to %x7E, except `%`. */
function readable(message: string): string {
  return message.replace(/%(?!25|7F)[2-7][\dA-F]/g, decodeURIComponent)
}
