/**
 * Refuses request bodies that do not decode, before Connect decodes them.
 *
 * Connect reports protobuf that it cannot decode as `internal`, and gives no reason for JSON. Requests are at most 64 KiB, so
 * decoding them twice is cheap; that of a configuration of 4 MiB takes a fraction of a second.
 */
import { type DescMessage, fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { invalidArgument } from '../messages/errors.ts'
import { decompress, GZIP } from './gzip.ts'

/** Flags and length of an enveloped message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const ENVELOPE_BYTES = 5

/** The only flag that is defined for the envelope of a request. */
const COMPRESSED = 1

/** So many parts of a body are kept apart. */
const MAX_CHUNKS = 64

/** How a content type encodes a message. */
interface Encoding {
  readonly enveloped: boolean
  readonly format: 'proto' | 'json'
  /** The header that names the compression. */
  readonly compression: 'content-encoding' | 'connect-content-encoding' | 'grpc-encoding'
}

const UNARY = { enveloped: false, compression: 'content-encoding' } as const
const ENVELOPED = { enveloped: true, compression: 'grpc-encoding' } as const

const STREAM = { enveloped: true, compression: 'connect-content-encoding' } as const

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  'application/proto': { ...UNARY, format: 'proto' },
  'application/json': { ...UNARY, format: 'json' },
  'application/connect+proto': { ...STREAM, format: 'proto' },
  'application/connect+json': { ...STREAM, format: 'json' },
  'application/grpc': { ...ENVELOPED, format: 'proto' },
  'application/grpc+proto': { ...ENVELOPED, format: 'proto' },
  'application/grpc+json': { ...ENVELOPED, format: 'json' },
  'application/grpc-web': { ...ENVELOPED, format: 'proto' },
  'application/grpc-web+proto': { ...ENVELOPED, format: 'proto' },
  'application/grpc-web+json': { ...ENVELOPED, format: 'json' },
}

/** The message that a body must be. */
interface ExpectedMessage {
  readonly type: DescMessage
  readonly header: Headers
  /** The longest message, as it is sent and decompressed, in bytes. */
  readonly maxBytes: number
}

/**
 * Yields the body once it has decoded as one message of the type. Bodies of other content types and incomplete ones are passed on
 * unchecked: Connect refuses them.
 *
 * A compressed message is decompressed here, and once more by Connect.
 *
 * @param message `onRefused` gets the error that is thrown: Connect only sends it to the client.
 * @throws {ConnectError} `invalid_argument`, `resource_exhausted` or `unavailable` while iterating.
 */
export async function* strictlyDecoded(
  body: AsyncIterable<Uint8Array>,
  message: ExpectedMessage & { readonly onRefused: (error: ConnectError) => void },
): AsyncIterable<Uint8Array> {
  try {
    yield* checked(body, message)
  } catch (error) {
    if (error instanceof ConnectError) message.onRefused(error)
    throw error
  }
}

async function* checked(body: AsyncIterable<Uint8Array>, message: ExpectedMessage): AsyncIterable<Uint8Array> {
  const contentType = message.header.get('content-type') ?? ''
  const encoding = ENCODINGS[contentType.split(';', 1).join().trim().toLowerCase()]
  let chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.byteLength
    // The rest is read too: over HTTP/1.1 the next request follows on the same connection.
    if (length <= message.maxBytes + ENVELOPE_BYTES) chunks.push(chunk)
    // Of a body that comes in bytes, each takes a hundred times its size.
    if (chunks.length === MAX_CHUNKS) chunks = [Buffer.concat(chunks)]
  }
  if (length > message.maxBytes + ENVELOPE_BYTES) {
    throw new ConnectError(`the message is longer than ${message.maxBytes} bytes`, Code.ResourceExhausted)
  }
  const bytes = Buffer.concat(chunks)
  if (encoding !== undefined) assertDecodes(payloadOf(bytes, encoding, message), message.type, encoding)
  if (bytes.byteLength > 0) yield bytes
}

function payloadOf(bytes: Buffer, encoding: Encoding, message: ExpectedMessage): Uint8Array | undefined {
  // Connect refuses any other compression in the header before it reads the body.
  const isCompressed = message.header.get(encoding.compression) === GZIP.name
  if (!encoding.enveloped) return isCompressed ? decompress(bytes, message.maxBytes) : bytes
  if (bytes.byteLength < ENVELOPE_BYTES) return undefined
  const flags = bytes.readUInt8(0)
  const end = ENVELOPE_BYTES + bytes.readUInt32BE(1)
  if ((flags & ~COMPRESSED) !== 0) throw refuse('the envelope of the message has flags that are not defined')
  // Connect reports this as `internal`.
  if (flags === COMPRESSED && !isCompressed) throw refuse('the message is compressed, and no compression is named')
  if (end < bytes.byteLength) throw refuse('there is more than one message')
  if (end > bytes.byteLength) return undefined
  const payload = bytes.subarray(ENVELOPE_BYTES, end)
  return flags === COMPRESSED ? decompress(payload, message.maxBytes) : payload
}

function refuse(message: string): ConnectError {
  return invalidArgument(new ConnectError(message, Code.InvalidArgument))
}

function assertDecodes(payload: Uint8Array | undefined, type: DescMessage, { format }: Encoding): void {
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
    // The decoder stops at the first mistake, and often names only the type that it expected.
    const place = placeOfMistake(type, json)
    throw refuse(`${place === '' ? 'the message' : place}: ${ConnectError.from(error).rawMessage}`)
  }
}

/** The path of the first field that does not decode on its own, for example `config.rsa.bits`; empty if there is none. */
function placeOfMistake(type: DescMessage, json: JsonValue): string {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return ''
  for (const [name, value] of Object.entries(json)) {
    const field = type.fields.find((candidate) => candidate.jsonName === name || candidate.name === name)
    if (field === undefined || decodes(type, { [name]: value })) continue
    const inner = field.fieldKind === 'message' ? placeOfMistake(field.message, value) : ''
    return inner === '' ? field.name : `${field.name}.${inner}`
  }
  return ''
}

function decodes(type: DescMessage, json: JsonValue): boolean {
  try {
    fromJson(type, json)
    return true
  } catch {
    return false
  }
}
