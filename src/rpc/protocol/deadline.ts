/**
 * Deadlines of calls: those that clients set are cut down to what the server is willing to keep, which is also that of calls
 * without one.
 */
import type { DescMethod } from '@bufbuild/protobuf'

/** The longest deadline of a call, in milliseconds. Generating a large RSA key behind others takes the longest. */
const MAX_DEADLINE = 60_000

/** The longest deadline of a stream, which may go on for as long as its client likes: what a timer can wait at most. */
const MAX_STREAM_DEADLINE = 24 * 86_400_000

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/**
 * Shortens a deadline that is too long, and gives a call one that has none. A client that would wait longer is not refused for it.
 * Streams without a deadline go on.
 */
export function capDeadline(header: Headers, { methodKind }: Pick<DescMethod, 'methodKind'>): void {
  const isUnary = methodKind === 'unary'
  const longest = isUnary ? MAX_DEADLINE : MAX_STREAM_DEADLINE
  // Each protocol looks at its own.
  if (isUnary && !header.has('connect-timeout-ms')) header.set('connect-timeout-ms', String(longest))
  if (isUnary && !header.has('grpc-timeout')) header.set('grpc-timeout', `${longest / 1000}S`)
  const connect = header.get('connect-timeout-ms')
  if (connect !== null && /^\d{1,10}$/.test(connect) && Number(connect) > longest) {
    header.set('connect-timeout-ms', String(longest))
  }
  const grpc = /^(\d{1,8})([HMSmun])$/.exec(header.get('grpc-timeout') ?? '')
  if (grpc !== null && Number(grpc[1]) * (UNIT_MILLISECONDS[grpc[2] ?? ''] ?? 0) > longest) {
    // In seconds, because there may be eight digits at most.
    header.set('grpc-timeout', `${longest / 1000}S`)
  }
}
