/**
 * Checks whether this replica can decrypt private keys before one of them is made to sign. If the active key cannot be
 * decrypted, no replica issues tokens.
 *
 * The check unwraps the content key with the master key and decrypts no private key. Other replicas should have the same
 * master keys, which cannot be checked from here.
 */
import type { SealedKeyCheck, SealedKeyStore, SealedWebKey } from '../../domain/keys/sealed-keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'

export interface DecryptabilityCheckOptions {
  readonly keys: Pick<SealedKeyStore, 'find' | 'findInitial'>
  readonly check: SealedKeyCheck
  readonly log: Log
}

export class DecryptabilityCheck {
  readonly #options: DecryptabilityCheckOptions

  constructor(options: DecryptabilityCheckOptions) {
    this.#options = options
  }

  /** Checks one key, if it exists and has a private key. @throws {DomainError} `storage_unavailable`. */
  async checkKey(keyId: string): Promise<ReadonlySet<string>> {
    return this.#check(await this.#options.keys.find([keyId]))
  }

  /** Checks every initial key. @throws {DomainError} `storage_unavailable`. */
  async checkInitialKeys(): Promise<ReadonlySet<string>> {
    return this.#check(await this.#options.keys.findInitial())
  }

  /** The log has the reason for each key that fails. */
  async #check(keys: readonly SealedWebKey[]): Promise<ReadonlySet<string>> {
    const { check, log } = this.#options
    const undecryptable = new Set<string>()
    for (const key of keys) {
      const { keyId } = key
      try {
        await check.assertOpens(key)
      } catch (error) {
        undecryptable.add(keyId)
        log.warn({ keyId, err: error }, 'the private key of a web key cannot be opened, so it will not be made to sign')
      }
    }
    return undecryptable
  }
}
