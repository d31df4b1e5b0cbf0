/**
 * Tries whether this replica can open private keys, before one of them is made to sign: with an active key that nobody can
 * open, no replica issues tokens.
 *
 * Others are meant to have the same master keys; from here nobody can try theirs.
 */
import type { KeyRing } from '../domain/key-ring.ts'
import type { Log, SealedKeyStore, SignerFactory } from '../domain/ports.ts'
import { activate, type WebKey } from '../domain/web-key.ts'

/** What a trial needs. */
export interface KeyTrialOptions {
  readonly keys: Pick<SealedKeyStore, 'list'>
  /** One whose signers nobody counts or traces: nothing is signed here. */
  readonly signers: SignerFactory
  readonly log: Log
}

export class KeyTrial {
  readonly #options: KeyTrialOptions

  constructor(options: KeyTrialOptions) {
    this.#options = options
  }

  /**
   * The ids of those of the keys whose private key is there and cannot be opened. The log has the reason of each.
   *
   * @throws {DomainError} `storage_unavailable`.
   */
  async closedAmong(keys: KeyRing): Promise<ReadonlySet<string>> {
    if (keys.length === 0) return new Set()
    const { log } = this.#options
    const sealed = new Map((await this.#options.keys.list()).map((key) => [key.keyId, key.sealedPrivateKey]))
    const closed = new Set<string>()
    for (const key of keys) {
      const sealedPrivateKey = sealed.get(key.keyId)
      if (sealedPrivateKey === undefined) continue
      try {
        await this.#open(key, sealedPrivateKey)
      } catch (error) {
        closed.add(key.keyId)
        const facts = { keyId: key.keyId, state: key.state, err: error }
        log.warn(facts, 'the private key of a web key cannot be opened, so it will not be made to sign')
      }
    }
    return closed
  }

  async #open(key: WebKey, sealedPrivateKey: string): Promise<void> {
    // As if it were active: a signer is of nothing else. When it was activated makes no difference to that.
    await this.#options.signers.open(key.state === 'active' ? key : activate(key, key.createdAt), sealedPrivateKey)
  }
}
