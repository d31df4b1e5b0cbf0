/**
 * The exit codes of the command line besides 0.
 */

/** Refused or failed. */
export const FAILED = 1
/** Called or configured wrongly. */
export const WRONG_USAGE = 2
