/**
 * What is known of keys that are sealed at rest, and the ports that keep them, check them and seal them anew.
 */
import type { ChangeEntry } from '../identities/authority.ts'
import type { SealedKeyPair } from './key-ring.ts'

/** A sealed private key, and the web key that it belongs to. */
export interface SealedWebKey extends Pick<SealedKeyPair, 'keyId' | 'algorithm'> {
  readonly kind: 'web_key'
  readonly sealed: string
}

/** A key as it is kept: the private key of a web key, or the integrity key of the instance. */
export type SealedKey = SealedWebKey | { readonly kind: 'integrity_key'; readonly sealed: string }

/** The sealed keys in the database. Every method throws {DomainError} `storage_unavailable`, and `replace` what `KeyStore.update` does. */
export interface SealedKeyStore {
  /** Every one that there is: the integrity key, then the private keys, oldest web key first. */
  list(): Promise<readonly SealedKey[]>
  /** The private keys of these web keys, those that are there. No other is read. */
  find(keyIds: readonly string[]): Promise<readonly SealedWebKey[]>
  /** The private keys of the initial web keys. No other is read. */
  findInitial(): Promise<readonly SealedWebKey[]>
  /** The integrity key; null if there is none. */
  integrityKey(): Promise<string | null>
  /**
   * Puts another sealed text in the place of this one, with `entry` as an audit event.
   *
   * @returns Whether it did: not if the key is not there any more, or sealed anew already.
   */
  replace(key: SealedKey, sealed: string, entry: ChangeEntry): Promise<boolean>
}

/** Seals keys anew. */
export interface KeyResealer {
  /** The ids of all master keys. The first one seals. */
  readonly masterKeyIds: readonly [string, ...string[]]
  /** The id of the master key that is said to have sealed it; null if nothing is said. */
  masterKeyOf(sealed: string): string | null
  /** @throws {Error} if none of the master keys opens it. The message says which is missing, and nothing of a key. */
  assertOpens(key: SealedKey): Promise<void>
  /** The same key, sealed with the first master key. @throws {Error} like `assertOpens`. */
  reseal(key: SealedKey): Promise<string>
}

/** Tells whether private keys could be opened here, and opens none. */
export interface SealedKeyCheck {
  /** @throws {Error} if none of the master keys opens it. The message says which is missing, and nothing of a key. */
  assertOpens(key: SealedWebKey): Promise<void>
}
