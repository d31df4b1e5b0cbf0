/**
 * Exponential backoff: how long to wait before something that has failed is tried again.
 */

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
