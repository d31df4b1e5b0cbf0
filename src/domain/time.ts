/**
 * Reckoning with moments.
 */

/** The moment of a change. */
export interface ChangeMoment {
  /** By the clock of the database. What expires is compared with it. */
  readonly clock: Date
  /** The date of the change: after that of every change before, so that it may be up to a day ahead of the clock. */
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
