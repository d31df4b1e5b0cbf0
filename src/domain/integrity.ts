/**
 * What makes a row of the database believed: it was written by a program that has the integrity key of the instance, which
 * is kept sealed. `crypto/` implements these ports (decision 11).
 */
import type { UserKey } from './identities/credential.ts'
import type { SealedWebKey } from './keys/sealed-keys.ts'
import type { KeyPairFacts } from './keys/web-key.ts'

/**
 * Message authentication codes of public keys.
 *
 * Those of web keys and of revoked ones differ: the record of a revoked key is no key that can be published again.
 */
export interface PublicKeyMacs {
  /** @throws {Error} if the key id is not the thumbprint of the key (RFC 7638). */
  ofWebKey(key: KeyPairFacts): Uint8Array
  /** @throws {Error} if the key id is not the thumbprint of the key, or this is not its code. */
  assertWebKey(key: KeyPairFacts, mac: Uint8Array): void
  ofRevokedWebKey(key: KeyPairFacts): Uint8Array
  /** @throws {Error} if this is not its code. */
  assertRevokedWebKey(key: KeyPairFacts, mac: Uint8Array): void
  /** Of a key of a service user, and of no other user. */
  ofUserKey(userId: string, key: Pick<UserKey, 'keyId' | 'publicJwk'>): Uint8Array
  /** @throws {Error} if this is not its code. */
  assertUserKey(userId: string, key: Pick<UserKey, 'keyId' | 'publicJwk'>, mac: Uint8Array): void
}

/** Makes and compares client secrets and personal access tokens. */
export interface ClientSecrets {
  /** A new secret and the hash to keep. The secret is not kept anywhere. */
  generate(): { readonly secret: string; readonly hash: Uint8Array }
  /** A new personal access token, which begins with `ktn_pat_` and ends in a tag, and the hash to keep. */
  generatePersonalAccessToken(): { readonly token: string; readonly hash: Uint8Array }
  /**
   * What can be told of a personal access token without the database: its tag shows that this instance has made it, or it has
   * the form of those from before there were tags, or neither. The time it takes tells nothing about the right tag.
   */
  originOfPersonalAccessToken(token: string): 'genuine' | 'older' | 'invented'
  /** The hash under which a personal access token is kept. */
  hashPersonalAccessToken(token: string): Uint8Array
  /**
   * Whether the client secret is one of those with these hashes. The time it takes tells nothing about the hashes, and an
   * empty list takes as long as one.
   */
  matches(secret: string, hashes: readonly Uint8Array[]): boolean
  /** The same for a personal access token. */
  matchesPersonalAccessToken(token: string, hashes: readonly Uint8Array[]): boolean
}

/** What an open integrity key is good for. */
export interface Integrity {
  readonly publicKeys: PublicKeyMacs
  readonly secrets: ClientSecrets
}

/** An integrity key that was just made, sealed and open. */
export interface NewIntegrity extends Integrity {
  readonly sealedIntegrityKey: string
}

/** What it takes to give an instance from before there were integrity keys one, with everything that it has. */
export interface TakeOver {
  readonly sealedIntegrityKey: string
  readonly publicKeys: PublicKeyMacs
  /**
   * Proves a web key by its private key: opens the whole of it, and wipes it.
   *
   * @throws {Error} that says what to do.
   */
  prove(key: SealedWebKey): Promise<void>
  /** The hash of a client secret, from the SHA-256 that was kept until now. */
  clientSecretHash(sha256: Uint8Array): Uint8Array
  /** The same for a personal access token. */
  personalAccessTokenHash(sha256: Uint8Array): Uint8Array
}
