/**
 * Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration.
 */
import { ConfigError } from '../config/config.ts'

const FAILED = 1
export const WRONG_USAGE = 2

/** The exit code of a command that ended with this error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof ConfigError ? WRONG_USAGE : FAILED
}
