/**
 * What is said about several measurements of the same thing.
 */

/** The middle and the extremes. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** The spread of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  return { median: middleOf(sorted), min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** The value that this share of the values does not exceed, between 0 and 1. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

function middleOf(sorted: readonly number[]): number {
  const half = sorted.length >> 1
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}
