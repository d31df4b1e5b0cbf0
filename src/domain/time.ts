/**
 * Moments, and arithmetic with them.
 */

/**
 * In seconds. A stored date that is further ahead of the clock does not count as evidence of the time: it comes from a clock that
 * was wrong by more than a time zone.
 */
export const MAX_DATE_AHEAD_SECONDS = 86_400

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
  /** The date of the change: after that of every change before, so that it may be ahead of the clock by `MAX_DATE_AHEAD_SECONDS`. */
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
