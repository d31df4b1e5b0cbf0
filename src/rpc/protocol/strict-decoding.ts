/**
 * Refuses request bodies that do not decode, before Connect decodes them: Connect reports protobuf that it cannot decode as `internal`, gives no
 * reason for JSON, and shows neither to an interceptor.
 */
import { type DescMessage, fromBinary, fromJsonString } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  createAsyncIterable,
  pipe,
  transformDecompressEnvelope,
  transformSplitEnvelope,
} from '@connectrpc/connect/protocol'
import { compressionGzip } from '@connectrpc/connect-node'
import { invalidArgument } from '../messages/errors.ts'

/** Flags and length of an enveloped message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const ENVELOPE_BYTES = 5

/** So many parts of a body are kept apart. */
const MAX_CHUNKS = 64

interface ExpectedMessage {
  readonly type: DescMessage
  readonly header: Headers
  /** The longest message, as it is sent and decompressed, in bytes. */
  readonly maxBytes: number
}

/**
 * Yields the body once it has decoded as one message of the type. Connect reads no body of another content type or compression.
 *
 * @param message `onRefused` gets the error that is thrown: Connect only sends it to the client.
 * @throws {ConnectError} `invalid_argument` or `resource_exhausted` while iterating.
 */
export async function* strictlyDecoded(
  body: AsyncIterable<Uint8Array>,
  message: ExpectedMessage & { readonly onRefused: (error: ConnectError) => void },
): AsyncIterable<Uint8Array> {
  const bytes = await readAll(body, message.maxBytes + ENVELOPE_BYTES)
  try {
    await assertDecodes(bytes, message)
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error)
    const refusal =
      code === Code.ResourceExhausted
        ? new ConnectError(`the message is longer than ${message.maxBytes} bytes`, code)
        : invalidArgument(new ConnectError(rawMessage, Code.InvalidArgument))
    message.onRefused(refusal)
    throw refusal
  }
  if (bytes !== undefined && bytes.byteLength > 0) yield bytes
}

/** Undefined: it is longer. The rest is read too: over HTTP/1.1 the next request follows on the same connection. */
async function readAll(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  let chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.byteLength
    if (length <= maxBytes) chunks.push(chunk)
    // Of a body that comes in bytes, each takes a hundred times its size.
    if (chunks.length === MAX_CHUNKS) chunks = [Buffer.concat(chunks)]
  }
  return length > maxBytes ? undefined : Buffer.concat(chunks)
}

async function assertDecodes(
  bytes: Uint8Array | undefined,
  { type, header, maxBytes }: ExpectedMessage,
): Promise<void> {
  if (bytes === undefined) throw new ConnectError('', Code.ResourceExhausted)
  const contentType = header.get('content-type') ?? ''
  const decode = (message: Uint8Array) =>
    /[/+]json\b/i.test(contentType)
      ? fromJsonString(type, new TextDecoder('utf-8', { fatal: true }).decode(message))
      : fromBinary(type, message, { readUnknownFields: false })
  const [, envelope] = /^application\/(grpc|connect\+)/i.exec(contentType) ?? []
  if (envelope === undefined) {
    decode(header.get('content-encoding') === 'gzip' ? await compressionGzip.decompress(bytes, maxBytes) : bytes)
    return
  }
  const encoding = header.get(envelope === 'grpc' ? 'grpc-encoding' : 'connect-content-encoding')
  const messages = pipe(
    createAsyncIterable([bytes]),
    transformSplitEnvelope(maxBytes),
    transformDecompressEnvelope(encoding === 'gzip' ? compressionGzip : null, maxBytes),
  )
  let count = 0
  for await (const { data } of messages) {
    decode(data)
    count += 1
    if (count > 1) throw new Error('there is more than one message')
  }
}
