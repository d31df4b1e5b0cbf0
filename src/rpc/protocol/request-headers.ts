/**
 * Adjusts the headers of a call before Connect reads them: quoted values, deadlines and compression.
 */
import type { DescMethod } from '@bufbuild/protobuf'

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

/** Headers by which clients say which compression they accept in responses. */
const ACCEPT_HEADERS = ['accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding']

/** The longest deadline of a call, in milliseconds. Generating a large RSA key behind others takes the longest. */
const MAX_DEADLINE = 60_000

/** The longest deadline of a stream, in milliseconds: the longest that a timer can wait. */
const MAX_STREAM_DEADLINE = 24 * 86_400_000

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/** Makes the headers safe for Connect. @param method The method that is called. */
export function adjustHeaders(header: Headers, method: Pick<DescMethod, 'methodKind'>): void {
  shortenQuotedHeaders(header)
  capDeadline(header, method)
  // Otherwise Connect compresses the response like the request.
  for (const name of ACCEPT_HEADERS) header.set(name, 'identity')
}

/** Shortens values that are too long. A shortened value is as invalid as before. */
function shortenQuotedHeaders(header: Headers): void {
  for (const name of QUOTED_HEADERS) {
    const value = header.get(name)
    if (value !== null && value.length > MAX_QUOTED_LENGTH) header.set(name, value.slice(0, MAX_QUOTED_LENGTH))
  }
}

/**
 * Shortens a deadline that is too long, and gives a unary call one if it has none. The call is not refused for it. A stream without
 * a deadline keeps none.
 */
export function capDeadline(header: Headers, { methodKind }: Pick<DescMethod, 'methodKind'>): void {
  const isUnary = methodKind === 'unary'
  const longest = isUnary ? MAX_DEADLINE : MAX_STREAM_DEADLINE
  // Each protocol reads its own header.
  if (isUnary && !header.has('connect-timeout-ms')) header.set('connect-timeout-ms', String(longest))
  if (isUnary && !header.has('grpc-timeout')) header.set('grpc-timeout', `${longest / 1000}S`)
  const connect = header.get('connect-timeout-ms')
  if (connect !== null && /^\d{1,10}$/.test(connect) && Number(connect) > longest) {
    header.set('connect-timeout-ms', String(longest))
  }
  const grpc = /^(\d{1,8})([HMSmun])$/.exec(header.get('grpc-timeout') ?? '')
  if (grpc !== null && Number(grpc[1]) * (UNIT_MILLISECONDS[grpc[2] ?? ''] ?? 0) > longest) {
    // In seconds: the value has at most eight digits.
    header.set('grpc-timeout', `${longest / 1000}S`)
  }
}
