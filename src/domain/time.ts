/**
 * Reckoning with moments.
 */

/** So many seconds later; earlier if negative. */
export function after(moment: Date, seconds: number): Date {
  return new Date(moment.getTime() + seconds * 1000)
}

export function earliest(first: Date, ...others: readonly Date[]): Date {
  return others.reduce((found, moment) => (moment < found ? moment : found), first)
}

export function latest(first: Date, ...others: readonly Date[]): Date {
  return others.reduce((found, moment) => (moment > found ? moment : found), first)
}
