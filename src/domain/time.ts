/** Moments, and arithmetic with them. */

/** How far the clocks of replicas may be from that of the database, in seconds: a replica whose clock is further from it is not ready. */
export const MAX_CLOCK_OFFSET_SECONDS = 30

/**
 * How far the clock of another party may be off, in seconds: of a client, a trusted issuer, or an OpenID provider. FAPI 2.0 Security Profile
 * §5.3.2.1 allows 10 to 60.
 */
export const CLOCK_TOLERANCE_SECONDS = 60

/** Time as a process measures it. */
export interface Clock {
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number
  /** Calls back once after so many milliseconds, unless the returned function is called before. */
  after(milliseconds: number, callback: () => void): () => void
}

export interface ChangeMoment {
  /** By the clock of the database. What expires is compared with it. */
  readonly clock: Date
  /** The date of the change: after that of every change before, so that it is ahead of a clock that has gone back. */
  readonly date: Date
}

/** So many seconds later; earlier if negative. */
export function after(moment: Date, seconds: number): Date {
  return new Date(moment.getTime() + seconds * 1000)
}

export function earliest(first: Date, ...others: readonly Date[]): Date {
  return new Date(Math.min(first.getTime(), ...others.map(Number)))
}

export function latest(first: Date, ...others: readonly Date[]): Date {
  return new Date(Math.max(first.getTime(), ...others.map(Number)))
}

/** How the wait grows, in milliseconds. */
export interface Backoff {
  /** After the first failure. It doubles with each failure that follows. */
  readonly first: number
  readonly longest: number
  /**
   * The random share by which this wait is shorter, 0 to 1, so that replicas which failed together do not retry together. Default 0:
   * no jitter.
   */
  readonly jitter?: number
}

/** The wait in milliseconds. @param failures How many in a row, 1 or more. */
export function backoffMillis(failures: number, { first, longest, jitter = 0 }: Backoff): number {
  return Math.min(longest, first * 2 ** (failures - 1)) * (1 - jitter)
}
