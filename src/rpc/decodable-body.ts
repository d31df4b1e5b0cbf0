/**
 * Refuses request bodies that do not decode, before Connect looks at them.
 *
 * Connect answers protobuf that it cannot decode with `internal`, as if the server were at fault, and gives no reason
 * for JSON. Requests are small, so decoding them twice costs nothing that anybody would notice.
 */
import { type DescMessage, fromBinary, fromJsonString } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { invalidArgument } from './errors.ts'

/** Flags and length of an enveloped message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const ENVELOPE_BYTES = 5

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

/**
 * The same bytes, once it is known that they are a message of this type.
 *
 * What is not recognised, too long or incomplete is passed on: Connect has its own answers to that.
 *
 * @param maxBytes The longest message that is looked at.
 * @throws {ConnectError} `invalid_argument` while iterating.
 */
export async function* decodableBody(
  body: AsyncIterable<Uint8Array>,
  message: { readonly type: DescMessage; readonly contentType: string | null; readonly maxBytes: number },
): AsyncIterable<Uint8Array> {
  const encoding = ENCODINGS[message.contentType?.split(';')[0]?.trim().toLowerCase() ?? '']
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    // Too long: what has been kept goes first, and Connect counts on its own.
    if (length > message.maxBytes + ENVELOPE_BYTES) {
      yield* chunks.splice(0)
      yield chunk
      continue
    }
    chunks.push(chunk)
    length += chunk.byteLength
  }
  const bytes = Buffer.concat(chunks)
  if (encoding !== undefined) assertDecodes(payloadOf(bytes, encoding), message.type, encoding)
  if (bytes.byteLength > 0) yield bytes
}

function payloadOf(bytes: Buffer, { enveloped }: Encoding): Buffer | undefined {
  if (!enveloped) return bytes
  if (bytes.byteLength < ENVELOPE_BYTES || bytes.readUInt8(0) !== 0) return undefined
  const end = ENVELOPE_BYTES + bytes.readUInt32BE(1)
  return end > bytes.byteLength ? undefined : bytes.subarray(ENVELOPE_BYTES, end)
}

function assertDecodes(payload: Buffer | undefined, type: DescMessage, { format }: Encoding): void {
  if (payload === undefined) return
  try {
    if (format === 'proto') fromBinary(type, payload)
    else fromJsonString(type, new TextDecoder('utf-8', { fatal: true }).decode(payload))
  } catch (error) {
    throw invalidArgument(new ConnectError(ConnectError.from(error).rawMessage, Code.InvalidArgument))
  }
}
