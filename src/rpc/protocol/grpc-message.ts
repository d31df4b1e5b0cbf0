/**
 * Writes `grpc-message` in the encoding of the gRPC protocol ("gRPC over HTTP2", Responses): UTF-8 in which only bytes outside
 * %x20-%x7E, and the percent sign, are percent-encoded.
 *
 * Connect encodes it with `encodeURIComponent`, which also encodes separators such as `:`. Clients that decode with a function for
 * whole URIs, like @grpc/grpc-js, leave those encoded and show `key_id%3A must be…`.
 */
import { encodeEnvelope, pipe, type UniversalServerResponse } from '@connectrpc/connect/protocol'

/** Marks the last message of a gRPC-Web body, which has the trailers ("gRPC-Web", Protocol differences vs gRPC over HTTP2). */
const TRAILERS = 0x80

/** Flags and length of an enveloped message. */
const ENVELOPE_BYTES = 5

const GRPC_MESSAGE = 'grpc-message'

/** An escape of a byte from %x20 to %x7E, except `%`. */
const NEEDLESS_ESCAPE = /%(?!25|7F)[2-7][\dA-F]/g

/** The value of that field in the text of gRPC-Web trailers. */
const FIELD_VALUE = /(?<=^grpc-message: ).*$/m

/** The same response, with a readable message if it is gRPC or gRPC-Web. */
export function withReadableMessage(response: UniversalServerResponse): UniversalServerResponse {
  const { body, header, trailer } = response
  const contentType = header?.get('content-type') ?? ''
  if (body === undefined || !contentType.startsWith('application/grpc')) return response
  const rewrite = contentType.startsWith('application/grpc-web')
    ? inBody
    : (chunks: AsyncIterable<Uint8Array>) => inTrailer(chunks, trailer)
  return { ...response, body: pipe(body, rewrite, { propagateDownStreamError: true }) }
}

/** Connect fills the trailer when the body ends. */
async function* inTrailer(chunks: AsyncIterable<Uint8Array>, trailer: Headers | undefined): AsyncIterable<Uint8Array> {
  yield* chunks
  const message = trailer?.get(GRPC_MESSAGE) ?? null
  if (message !== null) trailer?.set(GRPC_MESSAGE, readable(message))
}

/** Each chunk is one enveloped message. */
async function* inBody(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) yield chunk[0] === TRAILERS ? rewritten(chunk) : chunk
}

function rewritten(envelope: Uint8Array): Uint8Array {
  const fields = Buffer.from(envelope.subarray(ENVELOPE_BYTES)).toString('latin1')
  return encodeEnvelope(TRAILERS, Buffer.from(fields.replace(FIELD_VALUE, readable), 'latin1'))
}

/** The value of `grpc-message` for a text. */
export function encodeMessage(text: string): string {
  return readable(encodeURIComponent(text))
}

function readable(message: string): string {
  return message.replace(NEEDLESS_ESCAPE, decodeURIComponent)
}
