/** Adjusts the headers of a call before Connect reads them: quoted values, deadlines and compression. */
import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect'
import { parseTimeout as parseGrpcTimeout } from '@connectrpc/connect/protocol-grpc'

const ENCODINGS = ['connect-content-encoding', 'content-encoding', 'grpc-encoding']

const DEADLINES = { 'connect-timeout-ms': parseConnectTimeout, 'grpc-timeout': parseGrpcTimeout }

/** Longer than any valid value of those headers, in characters. */
const MAX_QUOTED = 64

/** The longest that a timer can wait, in milliseconds: 24 days. */
const MAX_TIMER = 2 ** 31 - 1

const ACCEPT_HEADERS = ['accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding']

/** Makes the headers safe for Connect. */
export function adjustHeaders(header: Headers): void {
  // Connect quotes them in its errors. Trailers that are too long end the session of HTTP/2, with the other calls in it.
  for (const name of [...ENCODINGS, ...Object.keys(DEADLINES)]) {
    const value = header.get(name) ?? ''
    if (value.length > MAX_QUOTED) header.set(name, value.slice(0, MAX_QUOTED))
  }
  // A timer that is too long ends at once.
  for (const [name, parse] of Object.entries(DEADLINES)) {
    if ((parse(header.get(name), MAX_TIMER).timeoutMs ?? 0) > MAX_TIMER) header.delete(name)
  }
  // Otherwise Connect compresses the response like the request.
  for (const name of ACCEPT_HEADERS) header.set(name, 'identity')
}
