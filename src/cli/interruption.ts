/**
 * Commands that are interrupted, and say then what they have done.
 */
import { constants } from 'node:os'
import { INTERRUPTED } from './exit-codes.ts'
import type { Io } from './io.ts'
import type { StopSignal } from './server/signals.ts'

/** Thrown by a command that was interrupted. Its work is not stopped: the process has to end. */
export class Interruption extends Error {
  /** 130 for Ctrl-C. */
  readonly exitCode: number

  /** @param known What the command has done, as far as it knows. */
  constructor(signal: StopSignal, known: string) {
    super(`interrupted by ${signal}: ${known}`)
    this.exitCode = INTERRUPTED + constants.signals[signal]
  }
}

/** What a command does until it is interrupted. @throws {Interruption} with what is `known` then. */
export async function untilInterrupted(
  { interrupted }: Pick<Io, 'interrupted'>,
  work: () => Promise<void>,
  known: () => string,
): Promise<void> {
  if (interrupted === undefined) return await work()
  const interruption = interrupted().then((signal) => {
    throw new Interruption(signal, known())
  })
  await Promise.race([work(), interruption])
}
