/**
 * The exit codes of the command line besides 0.
 */

/** Refused or failed. */
export const FAILED = 1
/** Called or configured wrongly. */
export const WRONG_USAGE = 2
/** "keyturn plan --detailed-exitcode" found a difference, as Terraform has it. Calling it wrongly is then a failure. */
export const DIFFERENT = 2
/** And the number of the signal: interrupted, as shells have it. */
export const INTERRUPTED = 128

/** Thrown by a command that has done what it shall do, and printed all of it, to end with an exit code. */
export class EndWith extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super()
    this.exitCode = exitCode
  }
}
