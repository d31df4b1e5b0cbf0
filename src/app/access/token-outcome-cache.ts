/**
 * The outcome of the last authentication with each bearer token, by the token's digest.
 *
 * It only decides which calls go first: every token is verified again. A forged token gets no entry, so that a flood of them
 * evicts none.
 */
import { LRUCache } from 'lru-cache'

/** How many tokens are remembered. The least recently used is evicted. */
const MAX_TOKENS = 10_000

export class TokenOutcomeCache {
  readonly #outcomes = new LRUCache<string, 'accepted' | 'refused'>({ max: MAX_TOKENS })

  /** Undefined if it is not known. */
  outcomeOf(digest: string): 'accepted' | 'refused' | undefined {
    return this.#outcomes.get(digest)
  }

  accepted(digest: string): void {
    this.#outcomes.set(digest, 'accepted')
  }

  /** @param isGenuine Whether the token has the tag of this instance. Any other token loses its entry. */
  refused(digest: string, isGenuine: boolean): void {
    if (isGenuine) this.#outcomes.set(digest, 'refused')
    else this.#outcomes.delete(digest)
  }
}
