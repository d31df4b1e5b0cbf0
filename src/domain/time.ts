/**
 * Moments, and arithmetic with them.
 */

/** How far the clocks of replicas may be from that of the database, in seconds: a replica whose clock is further from it is not ready. */
export const MAX_CLOCK_OFFSET_SECONDS = 30

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
