/**
 * Shortens the request headers whose value Connect quotes in its errors, which leave as HTTP/2 trailers and must fit into those.
 */

const QUOTED = ['connect-content-encoding', 'connect-timeout-ms', 'content-encoding', 'grpc-encoding', 'grpc-timeout']

/** Longer than any value that means something, in characters. */
const MAX_LENGTH = 64

/** Shortens those that are too long. What is left of one means as little as before. */
export function shortenQuotedHeaders(header: Headers): void {
  for (const name of QUOTED) {
    const value = header.get(name)
    if (value !== null && value.length > MAX_LENGTH) header.set(name, value.slice(0, MAX_LENGTH))
  }
}
