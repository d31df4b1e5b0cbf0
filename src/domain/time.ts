/**
 * Reckoning with moments.
 */

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
