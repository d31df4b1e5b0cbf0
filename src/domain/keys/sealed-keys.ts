/**
 * Keys that are sealed at rest, and the ports that store, check and reseal them.
 */
import type { ChangeEntry } from '../identities/authority.ts'
import type { SealedKeyPair } from './key-ring.ts'

/** A sealed private key, and the web key that it belongs to. */
export interface SealedWebKey extends Pick<SealedKeyPair, 'keyId' | 'algorithm'> {
  readonly kind: 'web_key'
  readonly sealed: string
}

/** A signing secret of a webhook, the current one or the one before. */
export interface SealedWebhookSecret {
  readonly kind: 'webhook_secret'
  readonly webhookId: string
  readonly sealed: string
}

/** A key as it is stored: the private key of a web key, the signing secret of a webhook, or the integrity key of the instance. */
export type SealedKey = SealedWebKey | SealedWebhookSecret | { readonly kind: 'integrity_key'; readonly sealed: string }

/** The sealed keys in the database. Every method throws {DomainError} `storage_unavailable`, and `replace` what `KeyStore.update` does. */
export interface SealedKeyStore {
  /** All of them: the integrity key, then the private keys, oldest web key first, then the secrets of webhooks. */
  list(): Promise<readonly SealedKey[]>
  /** The private keys of these web keys, as far as they exist. */
  find(keyIds: readonly string[]): Promise<readonly SealedWebKey[]>
  findInitial(): Promise<readonly SealedWebKey[]>
  /** The integrity key; null if there is none. */
  integrityKey(): Promise<string | null>
  /**
   * Replaces the sealed text, with `entry` as an audit event.
   *
   * @returns Whether it did: not if the key is gone, or was resealed already.
   */
  replace(key: SealedKey, sealed: string, entry: ChangeEntry): Promise<boolean>
}

export interface KeyResealer {
  /** The ids of all master keys. The first one seals. */
  readonly masterKeyIds: readonly [string, ...string[]]
  /** The id of the master key that the header names; null if it names none. */
  masterKeyOf(sealed: string): string | null
  /** @throws {Error} if none of the master keys opens it. The message says which is missing, and nothing of a key. */
  assertOpens(key: SealedKey): Promise<void>
  /** The same key, sealed with the first master key. @throws {Error} like `assertOpens`. */
  reseal(key: SealedKey): Promise<string>
}

/** Checks whether private keys can be opened here. */
export interface SealedKeyCheck {
  /** @throws {Error} if none of the master keys opens it. The message says which is missing, and nothing of a key. */
  assertOpens(key: SealedWebKey): Promise<void>
}
