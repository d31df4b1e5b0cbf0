/** Plans how an instance gets to what a configuration describes. The rules are those of single changes, whose functions are called. */
import {
  addIssuer,
  editIssuer,
  existingIssuer,
  type IssuerKeys,
  isSameSet,
  removeIssuer,
  type TrustedIssuer,
} from '../federation/trusted-issuer.ts'
import type { Project } from '../identities/project.ts'
import { assertOwnerLeft, isEnabledOwner, type ServiceUser } from '../identities/service-user.ts'
import { assertPolicy, changed, type RotationLimits, type RotationPolicy } from '../keys/rotation-policy.ts'
import type { ChangeMoment } from '../time.ts'
import {
  type Configuration,
  type ConfiguredUser,
  type Mistake,
  Mistakes,
  type ResourceName,
  type TrustedIssuerConfiguration,
} from './configuration.ts'
import { differencesOf, type FieldDifference, issuerFacts, type Names, policyFacts } from './description.ts'
import { planProjects } from './plan-projects.ts'
import { planUsers } from './plan-users.ts'

export interface ConfiguredState {
  readonly version: number
  /** Those that are named, those that users of the configuration refer to, and those with the label. */
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
  /** What users that are not among `users` have, and lose with it. */
  readonly otherHolders: OtherHolders
  readonly audiences: ReadonlyMap<string, string>
}

/** How many users have something, by its id; those that are not among the users of a state. What none has is left out. */
export interface OtherHolders {
  readonly roles: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly scopes: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly projects: ReadonlyMap<string, number>
  readonly trustedIssuers: ReadonlyMap<string, number>
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
}

/** One resource that becomes another. `before` undefined: it is created. `next` null: it is deleted. */
export type PlannedChange = {
  readonly name: ResourceName
  readonly fields: readonly FieldDifference[]
  /** How many users that the plan does not name lose something if it is deleted. */
  readonly otherUsers?: number
} & (
  | { readonly kind: 'project'; readonly before: Project | undefined; readonly next: Project | null }
  | {
      readonly kind: 'service_user'
      readonly path: string
      readonly before: ServiceUser | undefined
      readonly next: ServiceUser | null
    }
  | { readonly kind: 'trusted_issuer'; readonly before: TrustedIssuer | undefined; readonly next: TrustedIssuer | null }
  | { readonly kind: 'rotation_policy'; readonly before: RotationPolicy; readonly next: RotationPolicy }
)

export interface TakenOver {
  readonly name: ResourceName
  readonly id: string
}

export interface ConfigurationPlan {
  readonly version: number
  readonly changes: readonly PlannedChange[]
  /** What exists and gets the label. What is created gets it too. */
  readonly takenOver: readonly TakenOver[]
  readonly trustedIssuers: readonly TrustedIssuer[]
  readonly users: readonly ConfiguredUser[]
}

export interface Planning {
  readonly state: ConfiguredState
  readonly options: PlanOptions
  readonly mistakes: Mistakes
  /** Takes a resource of the configuration over if it has no label, or another one and that is wanted. */
  readonly claim: (path: string, name: ResourceName, id: string) => void
}

/** @param known Mistakes that were found before. */
export function planConfiguration(
  configuration: Configuration,
  state: ConfiguredState,
  { known = [], ...options }: PlanOptions & { readonly known?: readonly Mistake[] },
):
  | { readonly kind: 'plan'; readonly plan: ConfigurationPlan }
  | { readonly kind: 'mistakes'; readonly mistakes: readonly Mistake[] } {
  const mistakes = new Mistakes()
  const takenOver: TakenOver[] = []
  const claim = (path: string, name: ResourceName, id: string): void => {
    const label = state.labels.get(id)
    if (label === options.label) return
    if (label === undefined || options.takeOver) takenOver.push({ name, id })
    else
      mistakes.add(
        path,
        'configuration_label_taken',
        `it belongs to the label ${JSON.stringify(label)}: take it over, or leave it to that`,
      )
  }
  const planning: Planning = { state, options, mistakes, claim }

  const projects = planProjects(configuration.projects, planning)
  const issuers = planIssuers(configuration.trustedIssuers, planning)
  const users = planUsers(configuration.serviceUsers, { projects, issuers }, planning)
  assertProjectsEmpty(projects.changes, users.changes, planning)
  assertOwners(users.changes, planning)
  const policy = planPolicy(configuration.rotationPolicy, planning)

  const found = [...known, ...mistakes.found]
  if (found.length > 0) return { kind: 'mistakes', mistakes: found }
  const changes = [...projects.changes, ...issuers.changes, ...users.changes, ...policy]
  const { version } = state
  return { kind: 'plan', plan: { version, changes, takenOver, trustedIssuers: issuers.next, users: users.configured } }
}

export function isPruned({ state, options }: Planning, id: string): boolean {
  return options.prune && state.labels.get(id) === options.label
}

/** A project is deleted together with its users, or not at all. */
function assertProjectsEmpty(
  projects: readonly PlannedChange[],
  users: readonly PlannedChange[],
  { state, mistakes }: Planning,
): void {
  const deleted = new Set(
    users.map((change) => (change.kind === 'service_user' && change.next === null ? change.before?.userId : undefined)),
  )
  for (const change of projects) {
    if (change.kind !== 'project' || change.before === undefined || change.next !== null) continue
    const { projectId, name } = change.before
    const left = state.users.filter((user) => user.projectId === projectId && !deleted.has(user.userId)).length
    const all = left + (state.otherUsers.get(projectId) ?? 0)
    if (all === 0) continue
    mistakes.add(
      '',
      'project_has_users',
      `the project ${name} would be deleted, and ${all} of its service users would not: delete them first`,
    )
  }
}

function assertOwners(changes: readonly PlannedChange[], { state, mistakes }: Planning): void {
  const users = changes.filter((change) => change.kind === 'service_user')
  const changedIds = new Set(users.map(({ before }) => before?.userId))
  const kept = state.users.filter(({ userId }) => !changedIds.has(userId))
  const after = [...kept, ...users.flatMap(({ next }) => next ?? [])].filter(isEnabledOwner).length + state.otherOwners
  for (const { before, next, path } of users) {
    if (before !== undefined) mistakes.checked(path, () => assertOwnerLeft(before, next, after))
  }
}

function planPolicy(next: RotationPolicy | null, { state, options, mistakes }: Planning): readonly PlannedChange[] {
  const before = state.policy
  if (next === null) return []
  const policy = changed(before, next)
  const fields = differencesOf(policyFacts(before), policyFacts(policy))
  if (policy === before) return []
  mistakes.checked('rotationPolicy', () => assertPolicy(policy, options.limits, before))
  const name = { kind: 'rotation_policy' } as const
  return [{ kind: 'rotation_policy', name, before, next: policy, fields }]
}

export interface PlannedIssuers {
  readonly next: readonly TrustedIssuer[]
  readonly changes: readonly PlannedChange[]
  /** The `issuer` of those of the configuration that are a mistake already. */
  readonly refused: ReadonlySet<string>
}

function planIssuers(configured: readonly TrustedIssuerConfiguration[], planning: Planning): PlannedIssuers {
  const { state, options, mistakes, claim } = planning
  const names = { projects: new Map(), issuers: new Map(), thumbprintOf: options.thumbprintOf }
  const named = new Set(configured.map(({ issuer }) => issuer))
  const changes: PlannedChange[] = []
  let next = state.trustedIssuers
  // First, to make room.
  for (const before of state.trustedIssuers) {
    if (named.has(before.issuer) || !isPruned(planning, before.issuerId)) continue
    next = removeIssuer(next, before.issuerId)
    const otherUsers = state.otherHolders.trustedIssuers.get(before.issuerId) ?? 0
    changes.push({ kind: 'trusted_issuer', name: nameOf(before), before, next: null, fields: [], otherUsers })
  }
  const done = new Set<string>()
  for (const [index, wanted] of configured.entries()) {
    const path = `trustedIssuers[${index}]`
    if (done.has(wanted.issuer)) {
      mistakes.add(`${path}.issuer`, 'configuration_invalid', 'this issuer stands in the configuration already')
      continue
    }
    done.add(wanted.issuer)
    const before = state.trustedIssuers.find(({ issuer }) => issuer === wanted.issuer)
    if (before !== undefined) claim(path, nameOf(before), before.issuerId)
    const { keys, ...facts } = wanted
    if (keys === null) continue
    const issuerId = before?.issuerId ?? options.newId()
    next = mistakes.applied(path, next, (issuers) =>
      before === undefined
        ? addIssuer(issuers, { ...facts, issuerId, keys }, { date: options.moment.date, own: options.issuer })
        : editIssuer(issuers, issuerId, editOf(facts, keptKeys(before, keys))),
    )
    const after = next.find((issuer) => issuer.issuerId === issuerId)
    if (after === undefined) continue
    const fields = differencesOf(before === undefined ? [] : issuerFacts(before, names), issuerFacts(after, names))
    if (before === undefined || fields.length > 0)
      changes.push({ kind: 'trusted_issuer', name: nameOf(after), before, next: after, fields })
    // Facts in another order are no difference.
    else next = next.map((issuer) => (issuer === after ? existingIssuer(state.trustedIssuers, issuerId) : issuer))
  }
  const accepted = new Set(next.map(({ issuer }) => issuer))
  return { next, changes, refused: new Set([...named].filter((issuer) => !accepted.has(issuer))) }
}

function editOf({ algorithms, maxLifetimeSeconds }: Omit<TrustedIssuerConfiguration, 'keys'>, keys: IssuerKeys) {
  return { algorithms, maxLifetimeSeconds, keys }
}

/** Given keys as they are, if they are the same in another order. */
function keptKeys({ keys: before }: TrustedIssuer, keys: IssuerKeys): IssuerKeys {
  return before.kind === 'given' && keys.kind === 'given' && isSameSet(before.keys, keys.keys) ? before : keys
}

function nameOf({ issuer }: TrustedIssuer) {
  return { kind: 'trusted_issuer', name: issuer } as const
}
