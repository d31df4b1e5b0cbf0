/**
 * How commands end besides with 0, and commands that are interrupted and say then what they have done.
 */
import { constants } from 'node:os'
import type { Io } from './io.ts'

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

  constructor(exitCode: number, message = '') {
    super(message)
    this.exitCode = exitCode
  }
}

/** Thrown by a command that was interrupted, with 130 for Ctrl-C. Its work is not stopped: the process has to end. */
export class Interruption extends EndWith {}

/** What a command does until it is interrupted, which aborts its signal. @throws {Interruption} with what is `known` then. */
export async function untilInterrupted(
  { interrupted }: Pick<Io, 'interrupted'>,
  work: (signal: AbortSignal) => Promise<void>,
  known: () => string,
): Promise<void> {
  const stopping = new AbortController()
  const interruption = interrupted?.().then((signal) => {
    stopping.abort()
    throw new Interruption(INTERRUPTED + constants.signals[signal], `interrupted by ${signal}: ${known()}`)
  })
  await Promise.race([work(stopping.signal), ...(interruption === undefined ? [] : [interruption])])
}
