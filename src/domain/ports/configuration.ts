/** An instance as configurations see it. `storage/` implements this. */
import type { ConfigurationPlan, ConfiguredState } from '../configuration/plan.ts'
import type { ChangeEntry } from '../identities/authority.ts'
import type { ChangeMoment } from '../time.ts'

/** What is read of an instance. */
export type ConfigurationSubject =
  /** For a plan: what is named, and what has the label. Null: only what is named. */
  | {
      readonly kind: 'named'
      readonly label: string | null
      readonly projects: readonly string[]
      readonly users: readonly { readonly project: string; readonly name: string }[]
      readonly audiences: readonly string[]
    }
  /** For an export: of these projects, or of all if none is named, what has the label. Null: with and without labels. */
  | { readonly kind: 'selected'; readonly label: string | null; readonly projects: readonly string[] }

/** A configuration to apply, and how that is planned. */
export interface ConfigurationChange {
  /** What is created and taken over gets it. */
  readonly label: string
  readonly subject: ConfigurationSubject
  /** Pure. @throws {DomainError} `configuration_invalid`; `configuration_changed`. */
  readonly decide: (state: ConfiguredState, moment: ChangeMoment) => ConfigurationPlan
}

/** Every method throws {DomainError} `storage_unavailable`, `configuration_too_large`, and what `decide` throws. */
export interface ConfigurationStore {
  read(subject: ConfigurationSubject): Promise<{ readonly state: ConfiguredState; readonly moment: ChangeMoment }>
  plan(change: ConfigurationChange): Promise<ConfigurationPlan>
  /**
   * Plans and stores the plan as one step, like `KeyStore.update`, with an audit event for each resource. Taking over makes a new version too.
   *
   * @returns The version of the instance afterwards.
   */
  apply(
    entry: ChangeEntry,
    change: ConfigurationChange,
  ): Promise<{ readonly plan: ConfigurationPlan; readonly version: number }>
}
