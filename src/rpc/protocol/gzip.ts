/**
 * The compression of requests. Answers are not compressed.
 *
 * Decompression is synchronous: one message at a time, so that its CPU time and its buffers need no semaphore. A message within the
 * limits takes less than a millisecond, whatever is in it.
 */
import { gunzipSync } from 'node:zlib'
import { Code, ConnectError } from '@connectrpc/connect'
import { compressionGzip } from '@connectrpc/connect-node'
import { invalidArgument } from '../messages/errors.ts'

/** gzip (RFC 1952), as Connect uses it for the messages of streams. */
export const GZIP: typeof compressionGzip = {
  ...compressionGzip,
  // Connect's own calls a message that breaks off an internal error.
  decompress: async (bytes, maxBytes) => decompress(bytes, maxBytes),
}

/** Headers by which clients say which compression they accept in answers. */
const ACCEPT_HEADERS = ['accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding']

/** Makes Connect leave the answer uncompressed. Without these headers it would compress like the request. */
export function acceptIdentity(header: Headers): void {
  for (const name of ACCEPT_HEADERS) header.set(name, 'identity')
}

/** The header by which an answer says which compression requests may have (RFC 9110 §12.5.3; gRPC, "Compression"). */
export function acceptGzip(contentType: string | undefined): [name: string, value: string] {
  return [contentType?.startsWith('application/grpc') ? 'grpc-accept-encoding' : 'accept-encoding', GZIP.name]
}

/**
 * Decompresses a message. Stops as soon as it is longer than `maxBytes`.
 *
 * @param bytes An empty message is not compressed, as all implementations of Connect and gRPC have it.
 * @param maxBytes The longest result.
 * @throws {ConnectError} `resource_exhausted` if the result would be longer, `invalid_argument` if this is not gzip.
 */
export function decompress(bytes: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (bytes.byteLength === 0) return new Uint8Array()
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ConnectError(`the decompressed message is longer than ${maxBytes} bytes`, Code.ResourceExhausted)
    }
    throw invalidArgument(new ConnectError('the message is not valid gzip', Code.InvalidArgument))
  }
}
