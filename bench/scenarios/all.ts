/**
 * All scenarios, in the order in which they are run.
 */
import type { Effort } from '../effort.ts'
import type { Scenario } from './scenario.ts'
import { tokens } from './tokens.ts'

/** Scenarios by the name that `--only` takes. */
export function scenariosFor(effort: Effort): readonly (readonly [string, Scenario])[] {
  return [
    ...effort.algorithms.map((algorithm): [string, Scenario] => [
      `tokens-${algorithm}`,
      (bench, place) => tokens(algorithm, bench, place),
    ]),
  ]
}
