/**
 * An instance in memory that becomes what plans say, for tests of plans.
 */
import type { Configuration } from '../../../../src/domain/configuration/configuration.ts'
import { toConfiguration } from '../../../../src/domain/configuration/export.ts'
import {
  type ConfigurationPlan,
  type ConfiguredState,
  type PlanOptions,
  planConfiguration,
} from '../../../../src/domain/configuration/plan.ts'
import type { Project } from '../../../../src/domain/identities/project.ts'
import type { ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../../src/domain/keys/rotation-policy.ts'

export const NOW = new Date('2026-11-23T12:00:00Z')

/** An instance without anything. */
export const EMPTY: ConfiguredState = {
  version: 0,
  projects: [],
  users: [],
  trustedIssuers: [],
  policy: DEFAULT_ROTATION_POLICY,
  labels: new Map(),
  otherOwners: 0,
  otherUsers: new Map(),
  otherHolders: { roles: new Map(), scopes: new Map(), projects: new Map(), trustedIssuers: new Map() },
  audiences: new Map(),
}

/** Options with ids that count up. */
export function planOptions(options: Partial<PlanOptions> = {}): PlanOptions {
  let ids = 0
  return {
    label: 'default',
    prune: false,
    takeOver: false,
    moment: { clock: NOW, date: NOW },
    issuer: 'https://id.example.com',
    limits: { jwksMaxAgeSeconds: 300, tokenLifetimeSeconds: 3600, maxStalenessSeconds: 60, maxWebKeys: 50 },
    newId: () => `id-${++ids}-${Math.random()}`,
    thumbprintOf: ({ kid: _kid, alg: _alg, ...members }) => JSON.stringify(members),
    ...options,
  }
}

/** The state after a plan. */
export function afterPlan(state: ConfiguredState, plan: ConfigurationPlan, label = 'default'): ConfiguredState {
  const projects = new Map(state.projects.map((project) => [project.projectId, project]))
  const users = new Map(state.users.map((user) => [user.userId, user]))
  const labels = new Map(state.labels)
  let { policy } = state
  for (const change of plan.changes) {
    if (change.kind === 'project') become(projects, change, ({ projectId }: Project) => projectId)
    if (change.kind === 'service_user') become(users, change, ({ userId }: ServiceUser) => userId)
    if (change.kind === 'rotation_policy') policy = change.next
    if (change.kind === 'project' && change.before === undefined) labels.set(change.next!.projectId, label)
    if (change.kind === 'service_user' && change.before === undefined) labels.set(change.next!.userId, label)
    if (change.kind === 'trusted_issuer' && change.before === undefined) labels.set(change.next!.issuerId, label)
  }
  for (const { id } of plan.takenOver) labels.set(id, label)
  const all = [...projects.values()]
  return {
    ...state,
    version: state.version + (plan.changes.length > 0 || plan.takenOver.length > 0 ? 1 : 0),
    projects: all,
    users: [...users.values()].map((user) => grantedIn(user, projects)),
    trustedIssuers: plan.trustedIssuers,
    policy,
    labels,
    audiences: new Map(all.flatMap(({ projectId, audiences }) => audiences.map((audience) => [audience, projectId]))),
  }
}

/** What the database does: what a project loses, users lose too. */
function grantedIn(user: ServiceUser, projects: ReadonlyMap<string, Project>): ServiceUser {
  const projectRoles = [...user.projectRoles].map(([projectId, roles]) => {
    const { roles: known = [] } = projects.get(projectId) ?? {}
    return [projectId, roles.filter((role) => known.includes(role))] as const
  })
  const scopes = projects.get(user.projectId)?.scopes ?? []
  return {
    ...user,
    projectRoles: new Map(projectRoles.filter(([, roles]) => roles.length > 0)),
    managedProjects: new Map([...user.managedProjects].filter(([projectId]) => projects.has(projectId))),
    customScopes: user.customScopes.filter((scope) => scopes.includes(scope)),
  }
}

function become<T>(
  all: Map<string, T>,
  { before, next }: { before: T | undefined; next: T | null },
  idOf: (one: T) => string,
): void {
  if (next === null) all.delete(idOf(before!))
  else all.set(idOf(next), next)
}

/** The plan. @throws {Error} with the mistakes. */
export function planOf(
  configuration: Configuration,
  state: ConfiguredState,
  options: Partial<PlanOptions> = {},
): ConfigurationPlan {
  const outcome = planConfiguration(configuration, state, planOptions(options))
  if (outcome.kind === 'mistakes') throw new Error(JSON.stringify(outcome.mistakes))
  return outcome.plan
}

/** All of an instance as a configuration. */
export function exported({ projects, users, trustedIssuers, policy }: ConfiguredState): Configuration {
  return toConfiguration(
    { projects, users, trustedIssuers, policy },
    {
      clock: NOW,
      projects: new Map(projects.map(({ projectId, name }) => [projectId, name])),
      issuers: new Map(trustedIssuers.map(({ issuerId, issuer }) => [issuerId, issuer])),
    },
  )
}
