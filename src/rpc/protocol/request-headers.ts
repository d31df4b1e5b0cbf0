/** Adjusts the headers of a call before Connect reads them: deadlines and compression. */
import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect'
import { parseTimeout as parseGrpcTimeout } from '@connectrpc/connect/protocol-grpc'

const DEADLINES = { 'connect-timeout-ms': parseConnectTimeout, 'grpc-timeout': parseGrpcTimeout }

/** The longest that a timer can wait, in milliseconds: 24 days. */
const MAX_TIMER = 2 ** 31 - 1

const ACCEPT_HEADERS = ['accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding']

/** Makes the headers safe for Connect. */
export function adjustHeaders(header: Headers): void {
  // A timer that is too long ends at once.
  for (const [name, parse] of Object.entries(DEADLINES)) {
    if ((parse(header.get(name), MAX_TIMER).timeoutMs ?? 0) > MAX_TIMER) header.delete(name)
  }
  // Otherwise Connect compresses the response like the request.
  for (const name of ACCEPT_HEADERS) header.set(name, 'identity')
}
