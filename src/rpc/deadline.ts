/**
 * Deadlines that clients set, cut down to what the server is willing to keep.
 */

/** The longest deadline, in milliseconds. Generating a large RSA key behind others takes the longest. */
const MAX_DEADLINE = 60_000

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/** Shortens a deadline that is too long. A client that would wait longer is not refused for it. */
export function capDeadline(header: Headers): void {
  const connect = header.get('connect-timeout-ms')
  if (connect !== null && /^\d{1,10}$/.test(connect) && Number(connect) > MAX_DEADLINE) {
    header.set('connect-timeout-ms', String(MAX_DEADLINE))
  }
  const grpc = /^(\d{1,8})([HMSmun])$/.exec(header.get('grpc-timeout') ?? '')
  if (grpc !== null && Number(grpc[1]) * (UNIT_MILLISECONDS[grpc[2] ?? ''] ?? 0) > MAX_DEADLINE) {
    header.set('grpc-timeout', `${MAX_DEADLINE}m`)
  }
}
