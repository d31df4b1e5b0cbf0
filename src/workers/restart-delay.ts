/**
 * When a worker that died is started again.
 */

const FIRST_DELAY = 100
const MAX_DELAY = 30_000

/** A worker that ran so long, in milliseconds, died of something else than the one before it. */
export const LONG_RUN = 60_000

/**
 * How long to wait, in milliseconds: a moment after the first death, twice as long after each one that follows soon.
 *
 * @param deaths How many in a row, 1 or more.
 */
export function restartDelay(deaths: number): number {
  return Math.min(MAX_DELAY, FIRST_DELAY * 2 ** (deaths - 1))
}
