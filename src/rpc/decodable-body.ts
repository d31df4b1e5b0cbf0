/**
 * Refuses request bodies that do not decode, before Connect looks at them.
 *
 * Connect answers protobuf that it cannot decode with `internal`, as if the server were at fault, and gives no reason
 * for JSON. Requests are small, so decoding them twice costs nothing that anybody would notice.
 */
import { type DescMessage, fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { invalidArgument } from './errors.ts'
import { placeOfMistake } from './json-place.ts'

/** Flags and length of an enveloped message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const ENVELOPE_BYTES = 5

/** The only flag that a request's envelope may have. */
const COMPRESSED = 1

/** How a content type encodes a message. */
interface Encoding {
  readonly enveloped: boolean
  readonly format: 'proto' | 'json'
}

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  'application/proto': { enveloped: false, format: 'proto' },
  'application/json': { enveloped: false, format: 'json' },
  'application/grpc': { enveloped: true, format: 'proto' },
  'application/grpc+proto': { enveloped: true, format: 'proto' },
  'application/grpc+json': { enveloped: true, format: 'json' },
  'application/grpc-web': { enveloped: true, format: 'proto' },
  'application/grpc-web+proto': { enveloped: true, format: 'proto' },
  'application/grpc-web+json': { enveloped: true, format: 'json' },
}

/** What a body should be. */
interface ExpectedMessage {
  readonly type: DescMessage
  readonly contentType: string | null
  readonly maxBytes: number
}

/**
 * The same bytes, once it is known that they are one message of this type. Bodies of other content types, compressed or
 * incomplete ones are passed on: Connect has its own answers to those.
 *
 * @param message `maxBytes` is the longest; `onRefused` hears of what is thrown, which Connect tells nobody but the client.
 * @throws {ConnectError} `invalid_argument` or `resource_exhausted` while iterating.
 */
export async function* decodableBody(
  body: AsyncIterable<Uint8Array>,
  message: ExpectedMessage & { readonly onRefused: (error: ConnectError) => void },
): AsyncIterable<Uint8Array> {
  try {
    yield* decodable(body, message)
  } catch (error) {
    if (error instanceof ConnectError) message.onRefused(error)
    throw error
  }
}

async function* decodable(body: AsyncIterable<Uint8Array>, message: ExpectedMessage): AsyncIterable<Uint8Array> {
  const encoding = ENCODINGS[message.contentType?.split(';')[0]?.trim().toLowerCase() ?? '']
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.byteLength
    // Read to its end all the same: over HTTP/1.1 the next request comes on the same connection.
    if (length <= message.maxBytes + ENVELOPE_BYTES) chunks.push(chunk)
  }
  if (length > message.maxBytes + ENVELOPE_BYTES) {
    throw new ConnectError(`the message is longer than ${message.maxBytes} bytes`, Code.ResourceExhausted)
  }
  const bytes = Buffer.concat(chunks)
  if (encoding !== undefined) assertDecodes(payloadOf(bytes, encoding), message.type, encoding)
  if (bytes.byteLength > 0) yield bytes
}

function payloadOf(bytes: Buffer, { enveloped }: Encoding): Buffer | undefined {
  if (!enveloped) return bytes
  if (bytes.byteLength < ENVELOPE_BYTES) return undefined
  const flags = bytes.readUInt8(0)
  const end = ENVELOPE_BYTES + bytes.readUInt32BE(1)
  if ((flags & ~COMPRESSED) !== 0) throw refuse('the envelope of the message has flags that mean nothing')
  if (end < bytes.byteLength) throw refuse('there is more than one message')
  return flags === COMPRESSED || end > bytes.byteLength ? undefined : bytes.subarray(ENVELOPE_BYTES, end)
}

function refuse(message: string): ConnectError {
  return invalidArgument(new ConnectError(message, Code.InvalidArgument))
}

function assertDecodes(payload: Buffer | undefined, type: DescMessage, { format }: Encoding): void {
  if (payload === undefined) return
  let json: JsonValue = null
  try {
    if (format === 'proto') {
      fromBinary(type, payload)
    } else {
      json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
      fromJson(type, json)
    }
  } catch (error) {
    const place = placeOfMistake(type, json)
    throw refuse(`${place === '' ? 'the message' : place}: ${ConnectError.from(error).rawMessage}`)
  }
}
