/**
 * What a scenario gets, and what it comes to.
 */
import type { TestPostgres } from '../../test/support/postgres.ts'
import type { Place } from '../contenders/references.ts'
import type { Effort } from '../effort.ts'
import type { LoadGenerator } from '../load/generator.ts'

/** What scenarios share. */
export interface Bench {
  readonly effort: Effort
  readonly postgres: TestPostgres
  readonly load: LoadGenerator
  /** For files. */
  readonly folder: string
  /** Says what is going on. */
  readonly tell: (text: string) => void
}

/** Something that has been measured, to be read as a line of a table. */
export interface Row {
  readonly name: string
  /** By column. Numbers are kept in the JSON as they are and printed with three digits that matter. */
  readonly cells: Readonly<Record<string, number | string>>
}

/** Something that should be so. */
export interface Target {
  readonly name: string
  readonly limit: { readonly atMost: number } | { readonly atLeast: number }
  readonly unit: string
  readonly measured: number
  /** What limits what has been measured, if it is not the server. */
  readonly remark?: string
}

/** What a scenario came to. */
export interface Result {
  readonly title: string
  readonly rows: readonly Row[]
  readonly targets: readonly Target[]
  /** What else a reader must know. */
  readonly notes: readonly string[]
}

/** Measures one thing. What it starts ends with `place.cleanup`. */
export type Scenario = (bench: Bench, place: Place) => Promise<Result>

/** Whether it is so. Something that could not be measured is not. */
export function isMet({ limit, measured }: Target): boolean {
  return 'atMost' in limit ? measured <= limit.atMost : measured >= limit.atLeast
}
