/**
 * Tries whether this replica could open private keys, before one of them is made to sign: with an active key that cannot be
 * opened, no replica issues tokens.
 *
 * None is opened for that: the check is of the content key that a master key has wrapped. Other replicas are meant to have
 * the same master keys; theirs cannot be tried from here.
 */
import type { KeyRing } from '../../domain/keys/key-ring.ts'
import type { SealedKeyCheck, SealedKeyStore } from '../../domain/keys/sealed-keys.ts'
import type { Log } from '../../domain/ports.ts'
import { ClockCache } from '../identities/clock-cache.ts'

/** How many sealed texts are remembered: as many web keys as there may be at most. */
const MAX_REMEMBERED = 1000

/** What a trial needs. */
export interface DecryptabilityCheckOptions {
  readonly keys: Pick<SealedKeyStore, 'find'>
  readonly check: SealedKeyCheck
  readonly log: Log
}

export class DecryptabilityCheck {
  readonly #options: DecryptabilityCheckOptions
  /** The sealed text of each web key that was found to open. Master keys do not change while the process runs. */
  readonly #opening = new ClockCache<string, string>(MAX_REMEMBERED)

  constructor(options: DecryptabilityCheckOptions) {
    this.#options = options
  }

  /**
   * The ids of those of the keys whose private key is there and cannot be opened. The log has the reason of each.
   *
   * @throws {DomainError} `storage_unavailable`.
   */
  async undecryptableAmong(keys: KeyRing): Promise<ReadonlySet<string>> {
    if (keys.length === 0) return new Set()
    const { log, check } = this.#options
    const states = new Map(keys.map(({ keyId, state }) => [keyId, state]))
    const closed = new Set<string>()
    for (const key of await this.#options.keys.find([...states.keys()])) {
      const { keyId, sealed } = key
      if (this.#opening.get(keyId) === sealed) continue
      try {
        await check.assertOpens(key)
        this.#opening.set(keyId, sealed)
      } catch (error) {
        closed.add(keyId)
        const facts = { keyId, state: states.get(keyId), err: error }
        log.warn(facts, 'the private key of a web key cannot be opened, so it will not be made to sign')
      }
    }
    return closed
  }
}
