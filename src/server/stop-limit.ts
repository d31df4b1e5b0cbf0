/**
 * Time limits of a graceful shutdown, in milliseconds.
 */

/** For requests in flight. The rest is cut off. */
export const GRACE = 10_000

/** For pending writes and for closing the database. */
const MARGIN = 5_000

/** From the end of the drain to the exit of the process. A process that takes longer hangs. */
export const STOP_LIMIT = GRACE + MARGIN
