/**
 * What a command line gets from the process that it runs in.
 */
import type { Writable } from 'node:stream'
import type { StopSignal } from './server/signals.ts'

/** A stream that may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean }

export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  /** Where answers to questions are read. Default: there are none. */
  readonly stdin?: NodeJS.ReadableStream
  /** Whether standard input and standard error are a terminal, so that questions can be asked. */
  readonly isTerminal: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Interrupts commands that work on the database. `serve` stops at a signal of its process. */
  readonly signal?: AbortSignal
  /** The first signal from now on, for a command that says then what it has done. Default: none comes. */
  readonly interrupted?: () => Promise<StopSignal>
}
