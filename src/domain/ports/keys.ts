/** The web keys in the database, and their private halves. `storage/` and `crypto/` implement these. */

import type { ChangeEntry } from '../identities/authority.ts'
import type { WebKeyConfig } from '../keys/key-algorithm.ts'
import type { KeyRing, KeyRingChange, SealedKeyPair } from '../keys/key-ring.ts'
import type { Rotation } from '../keys/rotation.ts'
import type { ActiveWebKey, RevokedWebKey } from '../keys/web-key.ts'

/** The web keys in the database. */
export interface KeyStore {
  /**
   * Runs `decide` on the ring as it is and stores what it returns, as one step: no other update, in any process, sees
   * or changes the ring in between.
   *
   * `decide` must be pure and quick: it runs under the lock, and may run again on a newer ring. `now` is the date of the
   * change: by the clock of the database, and after every earlier date of the ring and of changes, so that it may be up to a day
   * ahead of that clock. If `decide` throws, nothing is stored and the error passes through. `entry` becomes an audit event.
   * Before `decide`, and whatever it decides, the authority of `entry` is checked in the same step, against the users,
   * credentials and keys as they are then, by the time of the database.
   *
   * @throws {DomainError} `token_invalid` or `permission_missing` if the authority of a user does not hold any more.
   * @throws {DomainError} `storage_unavailable` when the database cannot be reached in time. Nothing is stored then.
   * @throws {DomainError} `change_outcome_unknown` when the database has not confirmed a change, which may be stored or not. Only an
   * idempotent change may be repeated then.
   */
  update<T>(entry: ChangeEntry, decide: (ring: KeyRing, now: Date, rotation: Rotation) => KeyChange<T>): Promise<T>
  /**
   * Dates the publication of initial keys that have no date yet (see `planPublication`), as one step like `update`. Call it
   * after an update that added a key has returned; what another process left undated is dated as well.
   *
   * @throws {DomainError} `storage_unavailable`. They may be dated or not, and another call dates those that are not.
   */
  publish(): Promise<void>
  /** A key that was revoked, however long ago. */
  findRevoked(keyId: string): Promise<RevokedWebKey | undefined>
  /** The keys that were revoked last, at most 1000, ordered by creation date, oldest first. */
  listRevoked(): Promise<readonly RevokedWebKey[]>
}

/** A change of the ring, and perhaps of how it rotates. Nothing changes if there is neither a step nor a new rotation. */
export interface KeyChange<T> extends KeyRingChange<T> {
  /** What to store about rotation. The same object as before, or none: it stays as it is. */
  readonly rotation?: Rotation
  /** The resource of the audit event, if the decision knows it better than the caller. */
  readonly resource?: string
}

/** `high`: for a revocation or the rotation, which does not wait behind the keys that callers create. Default `normal`. */
export type KeyPairPriority = 'normal' | 'high'

export interface KeyPairGenerator {
  /**
   * Generates a key pair without blocking, and seals its private half.
   *
   * @throws {DomainError} `key_generation_busy` when too many of the same priority are being generated already.
   */
  generate(config: WebKeyConfig, priority?: KeyPairPriority): Promise<SealedKeyPair>
}

/** Signs with one private key. */
export interface Signer {
  readonly key: ActiveWebKey
  /** The JWS signature of the bytes, in the form of the key's algorithm (RFC 7515 §5.1). */
  sign(data: Uint8Array): Promise<Uint8Array>
}

/** Opens the private key of the active web key to sign with it. */
export interface SignerFactory {
  /**
   * @throws {Error} if no configured master key opens it, or it is not the private key of this web key. The message
   * says which, and nothing of the key.
   */
  open(key: ActiveWebKey, sealedPrivateKey: string): Promise<Signer>
}
