/**
 * Checks whether this replica can decrypt private keys before one of them is made to sign. If the active key cannot be
 * decrypted, no replica issues tokens.
 *
 * What is decrypted for that is wiped at once. Other replicas should have the same master keys, which cannot be checked from here.
 */
import type { SealedKeyCheck, SealedKeyStore, SealedWebKey } from '../../domain/keys/sealed-keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'

export interface DecryptabilityCheckOptions {
  readonly keys: Pick<SealedKeyStore, 'find' | 'findInitial'>
  readonly check: SealedKeyCheck
  readonly log: Log
}

export type DecryptabilityCheck = ReturnType<typeof createDecryptabilityCheck>

/** Both methods return the key ids of the private keys that cannot be decrypted here, and throw {DomainError} `storage_unavailable`. */
export function createDecryptabilityCheck({ keys, check, log }: DecryptabilityCheckOptions) {
  /** The log has the reason for each key that fails. */
  const undecryptableOf = async (sealed: readonly SealedWebKey[]): Promise<ReadonlySet<string>> => {
    const undecryptable = new Set<string>()
    for (const key of sealed) {
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
  return {
    /** Checks one key, if it exists and has a private key. */
    checkKey: async (keyId: string) => undecryptableOf(await keys.find([keyId])),
    checkInitialKeys: async () => undecryptableOf(await keys.findInitial()),
  }
}
