/**
 * What happened in a scenario, as those outside the servers saw it. Times are `performance.now()`.
 */
import type { Disconnection } from './http-client.ts'

/** Why a request with a good secret did not get a token. `unavailable`: 503. `wrong`: an answer that no fault excuses. */
export type TokenFailure = Disconnection | 'unavailable' | 'wrong'

/** What an acknowledged change did. */
export type ChangeKind = 'create' | 'activate' | 'delete'

/** An administrative change that was acknowledged. */
export interface AcknowledgedChange {
  readonly kind: ChangeKind
  readonly keyId: string
  readonly at: number
}

export class Ledger {
  readonly startedAt = performance.now()
  /** How many tokens came. */
  tokens = 0
  readonly changes: AcknowledgedChange[] = []
  /** Creations that nobody answered: each may have made a key or not. */
  unansweredCreations = 0
  /** Everything that must not happen, in words. */
  readonly wrongs: string[] = []

  /** Notes something that must not happen. Only the first ones are kept in words. */
  wrong(what: string): void {
    if (this.wrongs.length < 20)
      this.wrongs.push(`${((performance.now() - this.startedAt) / 1000).toFixed(2)} s: ${what}`)
  }

  acknowledge(kind: ChangeKind, keyId: string): void {
    this.changes.push({ kind, keyId, at: performance.now() })
  }

  keysThatWere(kind: ChangeKind): string[] {
    return this.changes.filter((change) => change.kind === kind).map(({ keyId }) => keyId)
  }
}
