/**
 * The compression of requests. Responses are not compressed.
 *
 * Decompression is synchronous: one message at a time, so that its CPU time and its buffers need no semaphore. A message of
 * 64 KiB takes less than a millisecond; only that of a configuration may be longer, and takes some milliseconds.
 */
import { gunzipSync } from 'node:zlib'
import { Code, ConnectError } from '@connectrpc/connect'
import { compressionGzip } from '@connectrpc/connect-node'
import { invalidArgument } from '../messages/errors.ts'

/** gzip (RFC 1952), as Connect uses it for the messages of streams. */
export const GZIP: typeof compressionGzip = {
  ...compressionGzip,
  // Connect's own reports a truncated message as `internal`.
  decompress: async (bytes, maxBytes) => decompress(bytes, maxBytes),
}

/** The header by which a response says which compression requests may have (RFC 9110 §12.5.3; gRPC, "Compression"). */
export function acceptedCompression(contentType: string | undefined): [name: string, value: string] {
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
