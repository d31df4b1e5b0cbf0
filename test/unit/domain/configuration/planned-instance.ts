/**
 * An instance in memory that becomes what plans say, for tests of plans.
 */
import { create } from '@bufbuild/protobuf'
import { ConfigurationSchema } from '../../../../gen/iam/config/v2/configuration_pb.js'
import type { Configuration } from '../../../../src/domain/configuration/configuration.ts'
import {
  type ConfigurationPlan,
  type ConfiguredState,
  type PlanOptions,
  planConfiguration,
} from '../../../../src/domain/configuration/plan.ts'
import type { Project } from '../../../../src/domain/identities/project.ts'
import type { ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../../src/domain/keys/rotation-policy.ts'
import { fromInstance } from '../../../../src/rpc/configuration/configuration-export.ts'
import { toConfiguration } from '../../../../src/rpc/configuration/configuration-mapping.ts'

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
}

/** Options with ids that count up. */
function planOptions(options: Partial<PlanOptions> = {}): PlanOptions {
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
    known: [],
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
    if (change.kind === 'project') become(projects, change)
    if (change.kind === 'service_user') become(users, change)
    if (change.kind === 'rotation_policy') policy = change.next!
    if (change.before === undefined) labels.set(change.id, label)
  }
  for (const { id } of plan.takenOver) labels.set(id, label)
  return {
    ...state,
    version: state.version + (plan.changes.length > 0 || plan.takenOver.length > 0 ? 1 : 0),
    projects: [...projects.values()],
    users: [...users.values()].map((user) => grantedIn(user, projects)),
    trustedIssuers: plan.trustedIssuers,
    policy,
    labels,
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

function become<T>(all: Map<string, T>, { id, next }: { id: string; next: T | null }): void {
  if (next === null) all.delete(id)
  else all.set(id, next)
}

export function planOf(
  configuration: Configuration,
  state: ConfiguredState,
  options: Partial<PlanOptions> = {},
): ConfigurationPlan {
  return planConfiguration(configuration, state, planOptions(options))
}

/** All of an instance as a configuration, by way of the message. */
export function exported(state: ConfiguredState): Configuration {
  const message = fromInstance(state, { label: null, projects: [] }, NOW)
  const { configuration, mistakes } = toConfiguration(create(ConfigurationSchema, message), {
    parseUserKeys: (json) => [JSON.parse(json)],
    parseIssuerKeys: (json) => JSON.parse(json).keys,
    parseCaCertificates: (pem) => pem,
  })
  if (mistakes.length > 0) throw new Error(JSON.stringify(mistakes))
  return configuration
}
