/**
 * The bearer tokens that this process has looked at before, and what came of it.
 *
 * It only says whose call need not wait: every call is checked all the same. Tokens that were made up do not get in here, so
 * that inventing them pushes none out.
 */
import { LRUCache } from 'lru-cache'

/** How many tokens are remembered: those not used for long are forgotten. */
const MAX_TOKENS = 10_000

/** By the digest of a token; the tokens themselves are not kept. */
export class KnownTokens {
  readonly #outcomes = new LRUCache<string, 'accepted' | 'refused'>({ max: MAX_TOKENS })

  /** What came of the token the last time; undefined if that is not known. */
  outcomeOf(digest: string): 'accepted' | 'refused' | undefined {
    return this.#outcomes.get(digest)
  }

  accepted(digest: string): void {
    this.#outcomes.set(digest, 'accepted')
  }

  /** @param isGenuine Whether the token shows that it was made here. Any other one is forgotten. */
  refused(digest: string, isGenuine: boolean): void {
    if (isGenuine) this.#outcomes.set(digest, 'refused')
    else this.#outcomes.delete(digest)
  }
}
