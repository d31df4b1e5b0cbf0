/**
 * What every verifier said of every token: counted for each key, apart for the time while it signed and the time after.
 */
import type { Verdict } from './verifier-process.ts'
import { KEYS, type KeyName, type KeyState } from './verifiers.ts'

/** How often, and what was said at the first refusal. */
export interface Tally {
  verified: number
  refused: number
  firstRefusal?: string
}

/** The tallies of one verifier. */
export type Tallies = Readonly<Record<KeyName, Readonly<Record<KeyState, Tally>>>>

export class Ledger {
  readonly #verifiers = new Map<string, Tallies>()
  /** Requests that were answered neither with 200 nor with 401, or not at all. */
  readonly failures: { readonly verifier: string; readonly failure: string }[] = []

  /** What a verifier said of the tokens of each key. */
  of(verifier: string): Tallies {
    let tallies = this.#verifiers.get(verifier)
    if (tallies === undefined) {
      const none = (): Tally => ({ verified: 0, refused: 0 })
      tallies = Object.fromEntries(KEYS.map((key) => [key, { active: none(), inactive: none() }])) as unknown as Tallies
      this.#verifiers.set(verifier, tallies)
    }
    return tallies
  }

  book(tally: Tally, verdict: Verdict): void {
    tally[verdict.kind] += 1
    if (verdict.kind === 'refused') tally.firstRefusal ??= verdict.reason
  }
}
