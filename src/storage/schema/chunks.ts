/**
 * Rows in chunks: a statement has at most 65,535 parameters, and each must end before it times out.
 */

const ROWS_AT_ONCE = 1000

/** The rows in order, in chunks for one statement each. No rows: no chunks. */
export function* inChunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) yield rows.slice(start, start + ROWS_AT_ONCE)
}
