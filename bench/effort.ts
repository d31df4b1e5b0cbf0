/**
 * How long and how often things are measured: as long as it takes for figures to keep, or just long enough to see that
 * everything works.
 */

/** Times are in seconds. */
export interface Effort {
  /** Scenarios that are left out unless they are asked for. */
  readonly without: readonly string[]
  /** How often each contender has its turn. */
  readonly rounds: number
  /** The same at half load. */
  readonly roundsAtHalfLoad: number
  /** Load on a contender that has just started, before its first turn. */
  readonly firstWarmUp: number
  /** Load before the window of each turn. */
  readonly warmUp: number
  /** The window of a turn. */
  readonly window: number
  /** How long the database is watched. */
  readonly quiet: number
  readonly activations: number
  readonly starts: number
  readonly propagations: { readonly listen: number; readonly poll: number }
  /** Service users in the database, and how many of them ask for tokens. */
  readonly users: { readonly inDatabase: number; readonly active: number }
}

/** Takes about a quarter of an hour. */
export const FULL: Effort = {
  without: [],
  rounds: 11,
  roundsAtHalfLoad: 3,
  firstWarmUp: 6,
  warmUp: 0.3,
  window: 1,
  quiet: 15,
  activations: 300,
  starts: 7,
  propagations: { listen: 50, poll: 20 },
  users: { inDatabase: 1_000_000, active: 10_000 },
}

/** Takes about a minute. Too short to rely on a figure. */
export const SHORT: Effort = {
  without: ['tokens-RS256', 'tokens-EdDSA', 'credentials', 'console', 'workers', 'many-users', 'growth'],
  rounds: 2,
  roundsAtHalfLoad: 1,
  firstWarmUp: 1,
  warmUp: 0.2,
  window: 0.5,
  quiet: 2,
  activations: 30,
  starts: 1,
  propagations: { listen: 5, poll: 2 },
  users: { inDatabase: 1_000, active: 100 },
}
