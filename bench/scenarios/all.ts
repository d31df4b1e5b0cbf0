/**
 * All scenarios, in the order in which they are run.
 */
import { ALGORITHMS } from '../contenders/contender.ts'
import { api } from './api.ts'
import { commandLine } from './command-line.ts'
import { console } from './console.ts'
import { credentials } from './credentials.ts'
import { growth } from './growth.ts'
import { keySet } from './key-set.ts'
import { manyUsers } from './many-users.ts'
import { rotation } from './rotation.ts'
import type { Scenario } from './scenario.ts'
import { startUp } from './start-up.ts'
import { tokens } from './tokens.ts'
import { workers } from './workers.ts'

/** Scenarios by the name that `--only` takes. */
export function allScenarios(): ReadonlyMap<string, Scenario> {
  const tokenScenarios = ALGORITHMS.map((algorithm): [string, Scenario] => [
    `tokens-${algorithm}`,
    (bench, place) => tokens(algorithm, bench, place),
  ])
  return new Map([
    ...tokenScenarios,
    ['credentials', credentials],
    ['key-set', keySet],
    ['api', api],
    ['rotation', rotation],
    ['start-up', startUp],
    ['command-line', commandLine],
    ['console', console],
    ['workers', workers],
    ['many-users', manyUsers],
    ['growth', growth],
  ])
}
