/** Plans how an instance gets to what a configuration describes. The rules are those of single changes, whose functions are called. */
import { projectResource, ROTATION_POLICY, trustedIssuerResource, userResource } from '../audit-resources.ts'
import type { TrustedIssuer } from '../federation/trusted-issuer.ts'
import type { Project } from '../identities/project.ts'
import { assertOwnerLeft, isEnabledOwner, type ServiceUser } from '../identities/service-user.ts'
import { assertPolicy, changed, type RotationLimits, type RotationPolicy } from '../keys/rotation-policy.ts'
import type { ChangeMoment } from '../time.ts'
import { type Configuration, InvalidConfiguration, type Mistake, Mistakes } from './configuration.ts'
import { differencesOf, type Names, policyFacts } from './description.ts'
import { planIssuers } from './plan-issuers.ts'
import { planProjects } from './plan-projects.ts'
import { type ChangeOf, keyOf, type LosingUsers, type Planning, type ResourceName } from './plan-resources.ts'
import { planUsers } from './plan-users.ts'

export interface ConfiguredState {
  readonly version: number
  /** Those that are named, those with an audience or the label of the configuration, and those that users refer to. */
  readonly projects: readonly Project[]
  readonly users: readonly ServiceUser[]
  readonly trustedIssuers: readonly TrustedIssuer[]
  readonly policy: RotationPolicy
  /** Of projects, users and trusted issuers, by id. What has none is left out. */
  readonly labels: ReadonlyMap<string, string>
  /** How many enabled owners are not among `users`. */
  readonly otherOwners: number
  /** How many users of these projects are not among `users`, by id. */
  readonly otherUsers: ReadonlyMap<string, number>
}

export interface PlanOptions {
  readonly label: string
  readonly prune: boolean
  /** Whether what has another label is taken over. */
  readonly takeOver: boolean
  readonly moment: ChangeMoment
  readonly issuer: string
  /** The limits of the rotation policy. Its lifetime of tokens limits that of a user too. */
  readonly limits: RotationLimits
  readonly newId: () => string
  readonly thumbprintOf: Names['thumbprintOf']
  /** Mistakes that were found before. */
  readonly known: readonly Mistake[]
}

export type PlannedChange = LosingUsers &
  (
    | ChangeOf<'project', Project>
    | ChangeOf<'service_user', ServiceUser>
    | ChangeOf<'trusted_issuer', TrustedIssuer>
    | ChangeOf<'rotation_policy', RotationPolicy>
  )

export interface ConfiguredUser {
  readonly project: string
  readonly name: string
  readonly userId: string
}

export interface ConfigurationPlan {
  readonly version: number
  readonly changes: readonly PlannedChange[]
  /** What exists and gets the label. What is created gets it too. */
  readonly takenOver: readonly Pick<PlannedChange, 'name' | 'id'>[]
  readonly trustedIssuers: readonly TrustedIssuer[]
  readonly users: readonly ConfiguredUser[]
  /** Of its audit events: what is changed, created, deleted and taken over. */
  readonly resources: readonly string[]
}

const RESOURCES: Readonly<Record<ResourceName['kind'], (id: string) => string>> = {
  project: projectResource,
  service_user: userResource,
  trusted_issuer: trustedIssuerResource,
  rotation_policy: () => ROTATION_POLICY,
}

/** @throws {InvalidConfiguration} */
export function planConfiguration(
  configuration: Configuration,
  state: ConfiguredState,
  options: PlanOptions,
): ConfigurationPlan {
  const mistakes = new Mistakes()
  mistakes.found.push(...options.known)
  const takenOver: Pick<PlannedChange, 'name' | 'id'>[] = []
  const planning: Planning = { configuration, state, options, mistakes, takenOver }

  const projects = planProjects(planning)
  const issuers = planIssuers(planning)
  const users = planUsers({ projects: projects.after, issuers: issuers.after }, planning)
  assertProjectsEmpty(projects.changes, users.changes, planning)
  assertOwners(users.changes, planning)
  const policy = planPolicy(planning)

  if (mistakes.found.length > 0) throw new InvalidConfiguration(mistakes.found)
  const changes = [...projects.changes, ...issuers.changes, ...users.changes, ...policy]
  return {
    version: state.version,
    changes,
    takenOver,
    trustedIssuers: [...issuers.after.values()],
    users: configuration.serviceUsers.map(({ project, name }) => {
      return { project, name, userId: users.after.get(keyOf({ project, name }))?.userId ?? '' }
    }),
    resources: [...new Set([...changes, ...takenOver].map(({ name, id }) => RESOURCES[name.kind](id)))],
  }
}

/** A project is deleted together with its users, or not at all. */
function assertProjectsEmpty(
  projects: readonly ChangeOf<'project', Project>[],
  users: readonly ChangeOf<'service_user', ServiceUser>[],
  { state, mistakes }: Planning,
): void {
  const deleted = new Set(users.filter(({ next }) => next === null).map(({ id }) => id))
  for (const { id, name, next } of projects) {
    if (next !== null) continue
    const left = state.users.filter((user) => user.projectId === id && !deleted.has(user.userId)).length
    const all = left + (state.otherUsers.get(id) ?? 0)
    if (all === 0) continue
    mistakes.add(
      '',
      'project_has_users',
      `the project ${name.name} would be deleted, and ${all} of its service users would not: delete them first`,
    )
  }
}

function assertOwners(users: readonly ChangeOf<'service_user', ServiceUser>[], { state, mistakes }: Planning): void {
  const changedIds = new Set(users.map(({ id }) => id))
  const kept = state.users.filter(({ userId }) => !changedIds.has(userId))
  const after = [...kept, ...users.flatMap(({ next }) => next ?? [])].filter(isEnabledOwner).length + state.otherOwners
  for (const { before, next, path } of users) {
    if (before !== undefined) mistakes.checked(path, () => assertOwnerLeft(before, next, after))
  }
}

function planPolicy(planning: Planning): readonly ChangeOf<'rotation_policy', RotationPolicy>[] {
  const { configuration, state, options, mistakes } = planning
  const before = state.policy
  const next = changed(before, configuration.rotationPolicy ?? {})
  if (next === before) return []
  const [kind, path] = ['rotation_policy', 'rotationPolicy'] as const
  mistakes.checked(path, () => assertPolicy(next, options.limits, before))
  const fields = differencesOf(policyFacts(before), policyFacts(next))
  return [{ kind, name: { kind, project: '', name: '' }, id: '', path, before, next, fields }]
}
