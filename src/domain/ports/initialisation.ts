/**
 * What an instance begins with, and its issuer. `storage/` implements these.
 */
import type { ConfiguredState } from '../configuration/plan.ts'
import type { ChangeEntry } from '../identities/authority.ts'
import type { NewIntegrity } from '../integrity.ts'
import type { SealedKeyPair } from '../keys/key-ring.ts'
import type { ChangeMoment } from '../time.ts'
import type { ConfigurationChange, ConfigurationSubject } from './configuration.ts'

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
export interface FirstConfiguration {
  readonly kind: 'configuration'
  readonly label: string
  readonly subject: ConfigurationSubject
  /** As for `ConfigurationStore.apply`. */
  readonly decide: (state: ConfiguredState, moment: ChangeMoment) => ConfigurationChange
}

/** What an instance begins with. */
export interface FirstContent {
  readonly owner: FirstAdministrator | FirstConfiguration
  readonly firstKey: SealedKeyPair
  readonly integrity: Pick<NewIntegrity, 'sealedIntegrityKey' | 'publicKeys'>
  readonly issuer: string
}

/** Fills an empty instance. */
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
