/**
 * The use cases of configurations: to plan, to apply and to export one.
 *
 * Keys and certificates are read before the store is locked. Few configurations are worked on at a time: each may have thousands of resources.
 */

import { projectResource, ROTATION_POLICY, trustedIssuerResource, userResource } from '../../domain/audit-resources.ts'
import type { Configuration } from '../../domain/configuration/configuration.ts'
import {
  invalidConfiguration,
  MAX_CONFIGURED_PROJECTS,
  MAX_CONFIGURED_USERS,
  type Mistake,
  Mistakes,
} from '../../domain/configuration/configuration.ts'
import { toConfiguration } from '../../domain/configuration/export.ts'
import {
  type ConfigurationPlan,
  type ConfiguredState,
  type PlannedChange,
  type PlanOptions,
  planConfiguration,
} from '../../domain/configuration/plan.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ChangeEntry } from '../../domain/identities/authority.ts'
import type { ConfigurationStore, ConfigurationSubject } from '../../domain/ports/configuration.ts'
import type { FirstConfiguration } from '../../domain/ports/instance.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import type { Replica } from '../replica/replica.ts'
import { type ConfigurationText, type KeyParsers, readConfiguration } from './configuration-text.ts'

/** How many configurations are worked on at a time, and how many may wait for that. */
const MAX_RUNNING = 2
const MAX_WAITING = 10

export type PlanningOptions = KeyParsers & Pick<PlanOptions, 'newId' | 'thumbprintOf' | 'issuer' | 'limits'>

export type ConfigurationsOptions = PlanningOptions & {
  readonly store: ConfigurationStore
  readonly replica: Pick<Replica, 'refreshAfterWrite'>
  readonly log: Log
}

export interface ConfigurationRequest extends Pick<PlanOptions, 'label' | 'prune' | 'takeOver'> {
  readonly configuration: ConfigurationText
  readonly mistakes: readonly Mistake[]
}

export interface ExportRequest {
  /** Null: with and without labels. */
  readonly label: string | null
  readonly projects: readonly string[]
}

/**
 * Every method throws {DomainError} `storage_unavailable`, and `configuration_busy` if too many wait; `apply` also `change_outcome_unknown` and
 * `change_not_in_force`.
 */
export class Configurations {
  readonly #options: ConfigurationsOptions
  readonly #semaphore = new Semaphore({ maxRunning: MAX_RUNNING, maxWaiting: MAX_WAITING, refusal: busy })

  constructor(options: ConfigurationsOptions) {
    this.#options = options
  }

  plan(request: ConfigurationRequest): Promise<ReturnType<typeof planConfiguration>> {
    return this.#semaphore.run(async () => {
      const { subject, planOn } = prepareConfiguration(request, this.#options)
      const { state, moment } = await this.#options.store.read(subject)
      return planOn(state, moment)
    })
  }

  /**
   * Brings the instance to what the configuration says.
   * @param entry Its resource does not count: each changed resource is an event of its own.
   * @param version Of the plan that shall be applied; null: whatever the instance is like.
   * @returns The version of the instance afterwards.
   * @throws {DomainError} `configuration_invalid`; `configuration_changed`.
   */
  apply(
    entry: Omit<ChangeEntry, 'resource'>,
    request: ConfigurationRequest,
    version: number | null,
  ): Promise<{ readonly plan: ConfigurationPlan; readonly version: number }> {
    const { store, replica, log } = this.#options
    return this.#semaphore.run(async () => {
      const { label, subject, decide } = prepareConfiguration(request, this.#options)
      const target = { label, subject }
      const stored = await store.apply({ ...entry, resource: '' }, target, (state, moment) => {
        if (version !== null && version !== state.version) throw changedSince(version, state)
        return decide(state, moment)
      })
      const { changes, takenOver } = stored.plan
      if (changes.length > 0 || takenOver.length > 0) await replica.refreshAfterWrite()
      log.info(
        { label, changes: changes.length, takenOver: takenOver.length, version: stored.version },
        'a configuration was applied',
      )
      return stored
    })
  }

  /** What the instance is like. @throws {DomainError} `user_name_not_unique`; `configuration_too_large`. */
  async export({
    label,
    projects,
  }: ExportRequest): Promise<{ readonly configuration: Configuration; readonly version: number }> {
    const limits = { maxUsers: MAX_CONFIGURED_USERS, maxProjects: MAX_CONFIGURED_PROJECTS }
    return this.#semaphore.run(async () => {
      const selected = await this.#options.store.select({ label, projects, ...limits })
      const { clock, projectNames, issuerNames, version } = selected
      const configuration = toConfiguration(selected, { clock, projects: projectNames, issuers: issuerNames })
      return { configuration, version }
    })
  }
}

interface PreparedConfiguration extends FirstConfiguration {
  readonly planOn: (state: ConfiguredState, moment: ChangeMoment) => ReturnType<typeof planConfiguration>
}

/** Reads keys and certificates, which takes longer than a plan. Its `decide` throws {DomainError} `configuration_invalid`. */
export function prepareConfiguration(
  { configuration: text, mistakes: found, label, prune, takeOver }: ConfigurationRequest,
  planning: PlanningOptions,
): PreparedConfiguration {
  const { newId, thumbprintOf, issuer, limits } = planning
  const mistakes = new Mistakes()
  const configuration = readConfiguration(text, planning, mistakes)
  const known = [...found, ...mistakes.found]
  const options = { label, prune, takeOver, issuer, limits, newId, thumbprintOf, known }
  const planOn = (state: ConfiguredState, moment: ChangeMoment) =>
    planConfiguration(configuration, state, { ...options, moment })
  const decide = (state: ConfiguredState, moment: ChangeMoment) => {
    const outcome = planOn(state, moment)
    if (outcome.kind === 'mistakes') throw invalidConfiguration(outcome.mistakes)
    return { plan: outcome.plan, resources: resourcesOf(outcome.plan) }
  }
  return { kind: 'configuration', label, subject: subjectOf(configuration, { prune, label }), planOn, decide }
}

function subjectOf(
  { projects, serviceUsers, trustedIssuers }: Configuration,
  { prune, label }: Pick<PlanOptions, 'prune' | 'label'>,
): ConfigurationSubject {
  const referred = serviceUsers.flatMap(({ project, projectRoles, managedProjects }) => [
    project,
    ...[...projectRoles, ...managedProjects].map((grant) => grant.project),
  ])
  return {
    projects: [...new Set([...projects.map(({ name }) => name), ...referred])],
    users: serviceUsers.map(({ project, name }) => ({ project, name })),
    audiences: projects.flatMap(({ audiences }) => audiences),
    kept: projects.map(({ name, roles, scopes }) => ({ name, roles, scopes })),
    issuers: trustedIssuers.map(({ issuer }) => issuer),
    label: prune ? label : null,
  }
}

function resourcesOf({ changes, takenOver }: ConfigurationPlan): readonly string[] {
  const taken = takenOver.map(({ name, id }) => resourceOf(name.kind, id))
  return [...new Set([...changes.map((change) => resourceOf(change.kind, idOf(change))), ...taken])]
}

function idOf(change: PlannedChange): string {
  switch (change.kind) {
    case 'project':
      return (change.next ?? change.before)?.projectId ?? ''
    case 'service_user':
      return (change.next ?? change.before)?.userId ?? ''
    case 'trusted_issuer':
      return (change.next ?? change.before)?.issuerId ?? ''
    case 'rotation_policy':
      return ''
  }
}

function resourceOf(kind: PlannedChange['kind'], id: string): string {
  switch (kind) {
    case 'project':
      return projectResource(id)
    case 'service_user':
      return userResource(id)
    case 'trusted_issuer':
      return trustedIssuerResource(id)
    case 'rotation_policy':
      return ROTATION_POLICY
  }
}

function changedSince(version: number, state: ConfiguredState): DomainError {
  return new DomainError(
    'configuration_changed',
    `the plan was made on version ${version} of the instance, which has version ${state.version} now: plan again`,
    { metadata: { version: String(state.version) } },
  )
}

function busy(): DomainError {
  return new DomainError('configuration_busy', 'too many configurations are being applied: try again later')
}
