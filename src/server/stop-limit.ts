/**
 * How long a server may take to stop, in milliseconds.
 */

/** For requests in flight to finish. */
export const GRACE = 10_000

/** For what is written behind them, and for the database to say goodbye. */
const MARGIN = 5_000

/** For a process from the end of its drain to its own. Beyond it, it hangs. */
export const STOP_LIMIT = GRACE + MARGIN
