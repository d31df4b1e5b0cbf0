/** Plans how an instance gets to what a configuration describes. The rules are those of single changes, whose functions are called. */
import { projectResource, ROTATION_POLICY, trustedIssuerResource, userResource } from '../audit-resources.ts'
import { addIssuer, editIssuer, existingIssuer, type TrustedIssuer } from '../federation/trusted-issuer.ts'
import { addPart, createProject, type Project } from '../identities/project.ts'
import { assertOwnerLeft, isEnabledOwner, type ServiceUser } from '../identities/service-user.ts'
import { assertPolicy, changed, type RotationLimits, type RotationPolicy } from '../keys/rotation-policy.ts'
import type { ChangeMoment } from '../time.ts'
import { type Configuration, InvalidConfiguration, type Mistake, Mistakes } from './configuration.ts'
import { differencesOf, issuerFacts, type Names, policyFacts, projectFacts } from './description.ts'
import {
  type ChangeOf,
  isPruned,
  keyOf,
  type LosingUsers,
  type PlannedResources,
  type Planning,
  planResources,
  type ResourceName,
} from './plan-resources.ts'
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

function planProjects(planning: Planning): PlannedResources<'project', Project> {
  const { configuration, state, options, mistakes } = planning
  const planned = planResources(
    {
      kind: 'project',
      path: ['projects', 'name'],
      configured: configuration.projects,
      existing: state.projects,
      nameOf: ({ name }) => ({ name }),
      idOf: ({ projectId }) => projectId,
      factsOf: projectFacts,
      plan: (wanted, path, before) => {
        const start = before ?? createProject(options.newId(), wanted.name, options.moment.date)
        let next: Project = { ...start, rolesClaim: wanted.rolesClaim }
        for (const list of ['roles', 'scopes', 'audiences'] as const) {
          next = { ...next, [list]: start[list].filter((each) => wanted[list].includes(each)) }
          for (const [index, name] of wanted[list].entries()) {
            // What the project has already is not refused for a rule that came later.
            if (next[list].includes(name)) continue
            const added = mistakes.checked(`${path}.${list}[${index}]`, () =>
              addPart(next, { list, name }, options.issuer),
            )
            next = added ?? next
          }
        }
        return { start, next }
      },
    },
    planning,
  )
  assertAudiencesFree(planned.after, planning)
  return planned
}

/** An audience belongs to one project. It may move from one to another in one step. */
function assertAudiencesFree(after: ReadonlyMap<string, Project>, { configuration, state, mistakes }: Planning): void {
  const had = new Map(state.projects.map(({ name, audiences }) => [name, audiences]))
  const owners = new Map<string, string>()
  // Those that stay as they are come first, so that the mistake is that of the one that wants more.
  for (const { name, audiences } of after.values())
    for (const audience of audiences) if (had.get(name)?.includes(audience)) owners.set(audience, name)
  for (const [index, { name, audiences }] of configuration.projects.entries()) {
    for (const [place, audience] of audiences.entries()) {
      const owner = owners.get(audience) ?? name
      owners.set(audience, owner)
      if (owner === name) continue
      const message = `the project ${owner} has this audience`
      mistakes.add(`projects[${index}].audiences[${place}]`, 'project_audience_taken', message)
    }
  }
}

function planIssuers(planning: Planning): PlannedResources<'trusted_issuer', TrustedIssuer> {
  const { configuration, state, options, mistakes } = planning
  const named = new Set(configuration.trustedIssuers.map(({ issuer }) => issuer))
  // What is pruned makes room.
  let issuers: readonly TrustedIssuer[] = state.trustedIssuers.filter(
    ({ issuer, issuerId }) => named.has(issuer) || !isPruned(issuerId, planning),
  )
  return planResources(
    {
      kind: 'trusted_issuer',
      path: ['trustedIssuers', 'issuer'],
      configured: configuration.trustedIssuers,
      existing: state.trustedIssuers,
      nameOf: ({ issuer }) => ({ name: issuer }),
      idOf: ({ issuerId }) => issuerId,
      factsOf: (issuer) => issuerFacts(issuer, options),
      plan: ({ keys, ...facts }, path, before) => {
        if (keys === null) return undefined
        const issuerId = before?.issuerId ?? options.newId()
        const { moment, issuer: own } = options
        const next = mistakes.checked(path, () =>
          before === undefined
            ? addIssuer(issuers, { ...facts, issuerId, keys }, { date: moment.date, own })
            : editIssuer(issuers, issuerId, { ...facts, keys }),
        )
        if (next === undefined) return undefined
        issuers = next
        return { start: before, next: existingIssuer(next, issuerId) }
      },
    },
    planning,
  )
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
