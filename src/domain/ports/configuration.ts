/** An instance as configurations see it. `storage/` implements this. */
import type { ExportedState } from '../configuration/export.ts'
import type { ConfigurationPlan, ConfiguredState } from '../configuration/plan.ts'
import type { ChangeEntry } from '../identities/authority.ts'
import type { ChangeMoment } from '../time.ts'

export interface ConfigurationSubject {
  readonly projects: readonly string[]
  readonly users: readonly { readonly project: string; readonly name: string }[]
  readonly audiences: readonly string[]
  /** What projects of the configuration keep. Those that are not named here are referred to, or have the label. */
  readonly kept: readonly {
    readonly name: string
    readonly roles: readonly string[]
    readonly scopes: readonly string[]
  }[]
  /** The `issuer` of the trusted issuers of the configuration. */
  readonly issuers: readonly string[]
  /** What has this label belongs to it too. Null: only what is named. */
  readonly label: string | null
}

export interface ConfigurationChange {
  readonly plan: ConfigurationPlan
  /** Of its audit events: what is changed, created, deleted and taken over. */
  readonly resources: readonly string[]
}

export interface ConfigurationSelection {
  /** Null: with and without labels. */
  readonly label: string | null
  /** Names; empty: everything. */
  readonly projects: readonly string[]
  /** The most users and projects to read: one more says that there are more. */
  readonly maxUsers: number
  readonly maxProjects: number
}

export interface SelectedState extends ExportedState {
  readonly version: number
  readonly clock: Date
  readonly projectNames: ReadonlyMap<string, string>
  readonly issuerNames: ReadonlyMap<string, string>
}

/** An instance as configurations see it. Every method throws {DomainError} `storage_unavailable`. */
export interface ConfigurationStore {
  read(subject: ConfigurationSubject): Promise<{ readonly state: ConfiguredState; readonly moment: ChangeMoment }>
  select(selection: ConfigurationSelection): Promise<SelectedState>
  /**
   * Plans and stores the plan as one step, like `KeyStore.update`, with an audit event for each resource. Taking over makes a new version too.
   *
   * @param label What is created and taken over gets it.
   */
  apply(
    entry: ChangeEntry,
    { subject, label }: { readonly subject: ConfigurationSubject; readonly label: string },
    decide: (state: ConfiguredState, moment: ChangeMoment) => ConfigurationChange,
  ): Promise<{ readonly plan: ConfigurationPlan; readonly version: number }>
}
