/**
 * A whole run, as it is written to a file.
 */
import type { Result } from './scenarios/scenario.ts'

/** Where and how it was made, and what came of it. */
export interface Run {
  /** ISO 8601. */
  readonly startedAt: string
  readonly command: string
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly node: string
    /** Processes that wanted a core, on average over a minute. Before the run it should be near 0. */
    readonly load: { readonly before: number; readonly after: number }
  }
  readonly results: readonly Result[]
}
