/** Adjusts the headers of a call before Connect reads them: quoted values, deadlines and compression. */
import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect'
import { parseTimeout as parseGrpcTimeout } from '@connectrpc/connect/protocol-grpc'

/** Headers whose value Connect quotes in its errors. Errors leave as HTTP/2 trailers, which are limited in size. */
const QUOTED_HEADERS = [
  'connect-content-encoding',
  'connect-timeout-ms',
  'content-encoding',
  'grpc-encoding',
  'grpc-timeout',
]

/** Longer than any valid value of those headers, in characters. */
const MAX_QUOTED_LENGTH = 64

const DEADLINES = { 'connect-timeout-ms': parseConnectTimeout, 'grpc-timeout': parseGrpcTimeout }

/** The longest that a timer can wait, in milliseconds: 24 days. */
const MAX_TIMER = 2 ** 31 - 1

const ACCEPT_HEADERS = ['accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding']

/** Makes the headers safe for Connect. */
export function adjustHeaders(header: Headers): void {
  for (const name of QUOTED_HEADERS) {
    const value = header.get(name)
    // A shortened value is as invalid as before.
    if (value !== null && value.length > MAX_QUOTED_LENGTH) header.set(name, value.slice(0, MAX_QUOTED_LENGTH))
  }
  // A timer that is too long ends at once.
  for (const [name, parse] of Object.entries(DEADLINES)) {
    if ((parse(header.get(name), MAX_TIMER).timeoutMs ?? 0) > MAX_TIMER) header.delete(name)
  }
  // Otherwise Connect compresses the response like the request.
  for (const name of ACCEPT_HEADERS) header.set(name, 'identity')
}
