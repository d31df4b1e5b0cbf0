/**
 * The use cases of configurations: to plan, to apply and to export one.
 *
 * Keys and certificates are read before the store is locked. Few configurations are worked on at a time: each may have thousands of resources.
 */
import type { Configuration, Mistake } from '../../domain/configuration/configuration.ts'
import { type ConfigurationPlan, type PlanOptions, planConfiguration } from '../../domain/configuration/plan.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ChangeEntry } from '../../domain/identities/authority.ts'
import type { ConfigurationChange, ConfigurationStore, ConfigurationSubject } from '../../domain/ports/configuration.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import type { TrustedIssuersOptions } from '../federation/trusted-issuers.ts'
import type { CredentialsOptions } from '../identities/credentials.ts'
import type { Replica } from '../replica/replica.ts'

/** How many configurations are worked on at a time, and how many may wait for that. */
const MAX_RUNNING = 2
const MAX_WAITING = 10

/** How keys and certificates are read. */
export type KeyParsers = Pick<TrustedIssuersOptions, 'parseIssuerKeys' | 'parseCaCertificates'> &
  Pick<CredentialsOptions, 'parseUserKeys'>

export type PlanningOptions = KeyParsers & Pick<PlanOptions, 'newId' | 'thumbprintOf' | 'issuer' | 'limits'>

export type ConfigurationsOptions = PlanningOptions & {
  readonly store: ConfigurationStore
  readonly replica: Pick<Replica, 'refreshAfterWrite'>
  readonly log: Log
}

export interface ConfigurationRequest extends Pick<PlanOptions, 'label' | 'prune' | 'takeOver'> {
  /** What of it cannot be read is a mistake. */
  readonly read: (parsers: KeyParsers) => {
    readonly configuration: Configuration
    readonly mistakes: readonly Mistake[]
  }
}

/**
 * Every method throws {DomainError} `storage_unavailable`, `configuration_too_large`, and `configuration_busy` if too many wait; `apply` also
 * `change_outcome_unknown` and `change_not_in_force`.
 */
export class Configurations {
  readonly #options: ConfigurationsOptions
  readonly #semaphore = new Semaphore({ maxRunning: MAX_RUNNING, maxWaiting: MAX_WAITING, refusal: busy })

  constructor(options: ConfigurationsOptions) {
    this.#options = options
  }

  /** @throws {InvalidConfiguration} */
  plan(request: ConfigurationRequest): Promise<ConfigurationPlan> {
    return this.#semaphore.run(() => this.#options.store.plan(prepareConfiguration(request, this.#options)))
  }

  /**
   * Brings the instance to what the configuration says.
   * @param entry Its resource does not count: each changed resource is an event of its own.
   * @param version Of the plan that shall be applied; null: whatever the instance is like.
   * @returns The version of the instance afterwards.
   * @throws {InvalidConfiguration} @throws {DomainError} `configuration_changed`.
   */
  apply(
    entry: Omit<ChangeEntry, 'resource'>,
    request: ConfigurationRequest,
    version: number | null,
  ): Promise<{ readonly plan: ConfigurationPlan; readonly version: number }> {
    const { store, replica, log } = this.#options
    return this.#semaphore.run(async () => {
      const change = prepareConfiguration(request, this.#options)
      const stored = await store.apply(
        { ...entry, resource: '' },
        {
          ...change,
          decide: (state, moment) => {
            if (version !== null && version !== state.version) throw changedSince(version, state.version)
            return change.decide(state, moment)
          },
        },
      )
      const { changes, takenOver, resources } = stored.plan
      if (resources.length > 0) await replica.refreshAfterWrite()
      log.info(
        { label: change.label, changes: changes.length, takenOver: takenOver.length, version: stored.version },
        'a configuration was applied',
      )
      return stored
    })
  }

  /** What the instance is like, with the projects and trusted issuers that users refer to. */
  export(selection: Pick<ConfigurationSubject, 'label' | 'projects'>): ReturnType<ConfigurationStore['read']> {
    return this.#semaphore.run(() => this.#options.store.read({ kind: 'selected', ...selection }))
  }
}

/** Reads keys and certificates, which takes longer than a plan. */
export function prepareConfiguration(
  { read, label, prune, takeOver }: ConfigurationRequest,
  planning: PlanningOptions,
): ConfigurationChange {
  const { configuration, mistakes: known } = read(planning)
  const { projects, serviceUsers } = configuration
  const referred = serviceUsers.flatMap(({ project, projectRoles, managedProjects }) => [
    project,
    ...[...projectRoles, ...managedProjects].map((grant) => grant.project),
  ])
  return {
    label,
    subject: {
      kind: 'named',
      label: prune ? label : null,
      projects: [...new Set([...projects.map(({ name }) => name), ...referred])],
      users: serviceUsers.map(({ project, name }) => ({ project, name })),
      audiences: projects.flatMap(({ audiences }) => audiences),
    },
    decide: (state, moment) =>
      planConfiguration(configuration, state, { ...planning, label, prune, takeOver, moment, known }),
  }
}

function changedSince(version: number, now: number): DomainError {
  return new DomainError(
    'configuration_changed',
    `the plan was made on version ${version} of the instance, which has version ${now} now: plan again`,
    { metadata: { version: String(now) } },
  )
}

function busy(): DomainError {
  return new DomainError('configuration_busy', 'too many configurations are being applied: try again later')
}
