/** What a replica reads of the instance, and how it learns of changes. `storage/` implements these. */

import type { IdentityChanges, Revision } from '../changes.ts'
import type { TrustedIssuer } from '../federation/trusted-issuer.ts'
import type { ChangeEntry } from '../identities/authority.ts'
import type { FederatedSubject } from '../identities/federated-identity.ts'
import type { ServiceUser } from '../identities/service-user.ts'
import type { NewIntegrity } from '../integrity.ts'
import type { KeyRing, SealedKeyPair } from '../keys/key-ring.ts'
import type { Rotation } from '../keys/rotation.ts'
import type { ConfigurationChange } from './configuration.ts'

export interface ClockReading {
  readonly databaseTime: Date
  /** How far it was ahead of the clock of this machine, at least; negative: behind. */
  readonly offsetSeconds: number
}

/** The status by which a replica knows whether it is up to date. */
export interface InstanceStatus extends Revision {
  /** The issuer of all replicas; null if none has been stored yet. */
  readonly issuer: string | null
  readonly clock: ClockReading
  /** What is known of the replay of a hot standby; null: the database is a primary. */
  readonly standby: StandbyReading | null
}

/** How far a hot standby has replayed the changes of its primary, as far as that shows. */
export interface StandbyReading {
  /** The date of the newest heartbeat of a replica that has arrived, by the clock of the primary; null: none has. */
  readonly newestHeartbeat: Date | null
}

/** Everything that a replica serves from memory, as it was at one version. */
export interface InstanceState extends InstanceStatus {
  readonly ring: KeyRing
  /** The sealed private key of the active web key; null if none is active. */
  readonly sealedActiveKey: string | null
  readonly rotation: Rotation
  readonly trustedIssuers: readonly TrustedIssuer[]
  readonly users: ReadonlyMap<string, ServiceUser>
}

export interface NeededIdentities {
  readonly userIds?: readonly string[]
}

/** Consistent reads of the instance. Every method throws {DomainError} `storage_unavailable` like `KeyStore`. */
export interface InstanceReader {
  status(): Promise<InstanceStatus>
  /** Everything that a replica serves, with these users, all as of the same version. */
  load(needed?: NeededIdentities): Promise<InstanceState>
  /**
   * The same for a replica that has the instance as of `revision`.
   *
   * @param choose Which users to read again, by what has changed since. It may be called more than once.
   */
  loadSince(
    revision: Revision,
    choose: (changes: IdentityChanges) => NeededIdentities,
  ): Promise<InstanceState & { readonly changes: IdentityChanges }>
  findServiceUser(userId: string): Promise<Revision & { readonly user: ServiceUser | undefined }>
  /** The ids of users who have a federated identity with this subject, two at most, and the revision at which it was so. */
  findFederatedUsers(subject: FederatedSubject): Promise<Revision & { readonly userIds: readonly string[] }>
}

/** Announces changes of other replicas, sooner than polling versions would. It is only a hint, and may miss any of them. */
export interface ChangeFeed {
  /** Calls `onChange` after changes, and after every reconnect, until the returned function is called. */
  subscribe(onChange: () => void): () => Promise<void>
  /** Whether announcements would arrive now. `off`: nothing is announced, as by a standby, or nothing listens. */
  status(): 'connected' | 'disconnected' | 'off'
}

/** The first administrator of an empty instance. */
export interface FirstAdministrator {
  readonly kind: 'administrator'
  readonly userId: string
  readonly projectId: string
  readonly projectName: string
  readonly secretId: string
  readonly secretHash: Uint8Array
}

/** A configuration with an owner, which an empty instance begins with. */
export interface FirstConfiguration extends ConfigurationChange {
  readonly kind: 'configuration'
}

export interface FirstContent {
  readonly owner: FirstAdministrator | FirstConfiguration
  readonly firstKey: SealedKeyPair
  readonly integrity: Pick<NewIntegrity, 'sealedIntegrityKey' | 'publicKeys'>
  readonly issuer: string
}

export interface InstanceInitializer {
  /** Whether the instance has been initialised. @throws {DomainError} `storage_unavailable`, also on a standby if it has not. */
  isInitialised(): Promise<boolean>
  /**
   * Stores the issuer, the integrity key, one active web key, and a project with a service user with `IAM_OWNER` and one client secret, or
   * what a configuration has, in one transaction, unless the instance has them already.
   *
   * `beforeCommit` runs when everything is written and no other replica can initialise any more. It must not use the
   * database. If it throws, nothing is stored and the error passes through.
   *
   * @returns Whether this call initialised the instance.
   */
  initialise(content: FirstContent, beforeCommit: () => Promise<void>): Promise<boolean>
}

/** The issuer of the instance. Every method throws {DomainError} `storage_unavailable`, and `change` what `KeyStore.update` does. */
export interface IssuerStore {
  /** Null: none has been stored yet. */
  find(): Promise<string | null>
  /** Stores what `decide` returns as one step, like `KeyStore.update`, and returns it. */
  change(entry: ChangeEntry, decide: (stored: string | null) => string): Promise<string>
}
