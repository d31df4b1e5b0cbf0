/** The service users of a plan, with their grants and credentials. */

import { parseCertificateValue } from '../identities/client-certificate.ts'
import { addCredential, credentialsOf, isLive, removeCredential } from '../identities/credential.ts'
import type { ProjectMemberRole } from '../identities/permission.ts'
import type { Project } from '../identities/project.ts'
import { createServiceUser, type ServiceUser, settleChange, switchesOf } from '../identities/service-user.ts'
import { parseTokenClaims, parseTokenLifetime } from '../identities/token-settings.ts'
import type { ConfiguredUser, ServiceUserConfiguration } from './configuration.ts'
import {
  CONFIGURED_KINDS,
  type ConfiguredCredential,
  claimsInWords,
  credentialInWords,
  differencesOf,
  type Names,
  userFacts,
} from './description.ts'
import { isPruned, type PlannedChange, type PlannedIssuers, type Planning } from './plan.ts'
import type { PlannedProjects } from './plan-projects.ts'

interface Surroundings {
  readonly projects: PlannedProjects
  readonly issuers: Pick<PlannedIssuers, 'next' | 'refused'>
}

interface NamedSurroundings extends Surroundings {
  readonly names: Names
}

interface PlannedUsers {
  readonly changes: readonly PlannedChange[]
  readonly configured: readonly ConfiguredUser[]
}

interface WantedUser {
  readonly wanted: ServiceUserConfiguration
  readonly path: string
}

export function planUsers(
  configured: readonly ServiceUserConfiguration[],
  surroundings: Surroundings,
  planning: Planning,
): PlannedUsers {
  const { state, options, mistakes, claim } = planning
  const { projects } = surroundings
  const issuers = new Map(
    [...state.trustedIssuers, ...surroundings.issuers.next].map(({ issuerId, issuer }) => [issuerId, issuer]),
  )
  const names: Names = { projects: projects.names, issuers, thumbprintOf: options.thumbprintOf }
  const existing = Map.groupBy(state.users, ({ projectName, name }) => keyOf(projectName, name))
  const changes: PlannedChange[] = []
  const users: ConfiguredUser[] = []
  const done = new Set<string>()
  for (const [index, wanted] of configured.entries()) {
    const path = `serviceUsers[${index}]`
    const key = keyOf(wanted.project, wanted.name)
    const same = existing.get(key) ?? []
    const project = projects.byName.get(wanted.project)
    if (done.has(key)) {
      mistakes.add(`${path}.name`, 'configuration_invalid', 'this user stands in the configuration already')
      continue
    }
    done.add(key)
    if (project === undefined) {
      mistakes.add(`${path}.project`, 'project_not_found', `there is no project ${wanted.project}`)
      continue
    }
    if (same.length > 1) {
      const ids = same.map(({ userId }) => userId).join(', ')
      mistakes.add(
        `${path}.name`,
        'user_name_not_unique',
        `the project has ${same.length} users with this name: rename or delete all but one of ${ids}`,
      )
      continue
    }
    const [before] = same
    const name = { kind: 'service_user', project: wanted.project, name: wanted.name } as const
    if (before !== undefined) claim(path, name, before.userId)
    const start = before ?? newUser(wanted, project, planning)
    const next = planUser(start, { wanted, path }, { ...surroundings, names }, planning)
    const fields = differencesOf(userFacts(start, names), userFacts(next, names))
    if (before === undefined || fields.length > 0) {
      const settled = mistakes.applied(path, next, (user) => settleChange(before, user, options.moment.clock))
      changes.push({ kind: 'service_user', path, name, before, next: settled, fields })
    }
    users.push({ project: wanted.project, name: wanted.name, userId: next.userId })
  }
  for (const before of state.users) {
    if (done.has(keyOf(before.projectName, before.name)) || !isPruned(planning, before.userId)) continue
    const name = { kind: 'service_user', project: before.projectName, name: before.name } as const
    changes.push({ kind: 'service_user', path: '', name, before, next: null, fields: [] })
  }
  return { changes, configured: users }
}

function keyOf(project: string, name: string): string {
  return `${project} ${name}`
}

function newUser({ name }: ServiceUserConfiguration, project: Project, { options }: Planning): ServiceUser {
  const { projectId, name: projectName } = project
  const facts = { userId: options.newId(), name, projectId, projectName, clientCredentialsEnabled: true }
  return createServiceUser(facts, options.moment.date)
}

function planUser(
  before: ServiceUser,
  user: WantedUser,
  surroundings: NamedSurroundings,
  planning: Planning,
): ServiceUser {
  const { enabled, instanceRoles } = user.wanted
  const roles = [...new Set(instanceRoles)].sort()
  const next = { ...before, ...switchesOf(user.wanted), enabled, instanceRoles: roles }
  const granted = planGrants(planTokenSettings(next, user, planning), user, surroundings, planning)
  return planCredentials(granted, user, surroundings, planning)
}

/** What the user has already is not refused for a limit or a rule that came later. */
function planTokenSettings(
  user: ServiceUser,
  { wanted, path }: WantedUser,
  { options, mistakes }: Planning,
): ServiceUser {
  const { tokenLifetimeSeconds: seconds, tokenClaims: json } = wanted
  const { tokenLifetimeSeconds: limit } = options.limits
  const lifetime =
    seconds === null || seconds === user.tokenLifetimeSeconds
      ? seconds
      : mistakes.checked(`${path}.tokenLifetime`, () => parseTokenLifetime(seconds, limit))
  const isSame = isSameClaims(json, user)
  const claims = isSame
    ? user.tokenClaims
    : mistakes.checked(`${path}.tokenClaims`, () => (json === '' ? {} : parseTokenClaims(json)))
  return {
    ...user,
    tokenLifetimeSeconds: lifetime ?? null,
    tokenClaims: claims ?? user.tokenClaims,
  }
}

function isSameClaims(json: string, { tokenClaims }: ServiceUser): boolean {
  if (json === '') return Object.keys(tokenClaims).length === 0
  try {
    return claimsInWords(JSON.parse(json)) === claimsInWords(tokenClaims)
  } catch {
    return false
  }
}

/** The grants of the configuration, but for those with a mistake. */
function planGrants(
  before: ServiceUser,
  { wanted, path }: WantedUser,
  { projects }: Surroundings,
  { mistakes }: Planning,
): ServiceUser {
  const find = (name: string, place: string) => {
    const project = projects.byName.get(name)
    if (project === undefined) mistakes.add(`${path}.${place}`, 'project_not_found', `there is no project ${name}`)
    return project
  }
  /** What a rule refused of the project is a mistake already. */
  const has = (list: 'roles' | 'scopes', name: string, { project, place }: { project: string; place: string }) => {
    if (projects.byName.get(project)?.[list].includes(name)) return true
    const one = list === 'roles' ? 'role' : 'scope'
    if (!projects.wanted.get(project)?.[list].includes(name))
      mistakes.add(
        `${path}.${place}`,
        `project_${one}_not_found`,
        `the project ${project} has no ${one} ${JSON.stringify(name)}`,
      )
    return false
  }
  const managedProjects = new Map<string, ProjectMemberRole>()
  for (const [index, { project: name, role }] of wanted.managedProjects.entries()) {
    const place = `managedProjects[${index}].project`
    const project = find(name, place)
    if (project === undefined) continue
    if (managedProjects.has(project.projectId))
      mistakes.add(`${path}.${place}`, 'configuration_invalid', 'the user has a role over this project already')
    else managedProjects.set(project.projectId, role)
  }
  const projectRoles = new Map<string, readonly string[]>()
  for (const [index, { project, roles }] of wanted.projectRoles.entries()) {
    const projectId = find(project, `projectRoles[${index}].project`)?.projectId
    if (projectId === undefined) continue
    const known = roles.filter((role, at) =>
      has('roles', role, { project, place: `projectRoles[${index}].roles[${at}]` }),
    )
    const all = new Set([...(projectRoles.get(projectId) ?? []), ...known])
    if (all.size > 0) projectRoles.set(projectId, [...all].sort())
  }
  const { project } = wanted
  const scopes = wanted.scopes.filter((scope, at) => has('scopes', scope, { project, place: `scopes[${at}]` }))
  return { ...before, managedProjects, projectRoles, customScopes: [...new Set(scopes)].sort() }
}

interface Wanted {
  readonly facts: ConfiguredCredential
  readonly words: string
  readonly path: string
}

function planCredentials(
  before: ServiceUser,
  user: WantedUser,
  surroundings: NamedSurroundings,
  planning: Planning,
): ServiceUser {
  const { mistakes, options } = planning
  const { moment, newId } = options
  const wants = wantedCredentials(user, surroundings, planning)
  const first = new Map(wants.toReversed().map((want) => [want.words, want]))
  let next = before
  for (const kind of CONFIGURED_KINDS) {
    const has = credentialsOf(before, kind).map((credential) => {
      return { credential, words: credentialInWords(credential, surroundings.names) }
    })
    const known = new Set(has.map(({ words }) => words))
    const added = wants.filter((want) => {
      return want.facts.kind === kind && first.get(want.words) === want && !known.has(want.words)
    })
    for (const { credential, words } of has) {
      if (first.has(words) || (added.length === 0 && !isLive(credential, moment.clock))) continue
      next = removeCredential(next, kind, credential.credentialId)
    }
    for (const { facts, path } of added) {
      const credential = { ...facts, credentialId: newId(), createdAt: moment.date }
      next = mistakes.applied(path, next, (user) => addCredential(user, credential, moment.clock))
    }
  }
  return next
}

/** As a configuration has them, but for those with a mistake. */
function wantedCredentials(
  { wanted, path }: WantedUser,
  { issuers, names }: NamedSurroundings,
  { mistakes }: Planning,
): readonly Wanted[] {
  const want = (place: string, facts: ConfiguredCredential | undefined): readonly Wanted[] =>
    facts === undefined ? [] : [{ facts, words: credentialInWords(facts, names), path: place }]
  const issuerIds = new Map(issuers.next.map(({ issuerId, issuer }) => [issuer, issuerId]))
  return [
    ...wanted.publicKeys.flatMap((key, index) =>
      want(`${path}.publicKeys[${index}]`, key === null ? undefined : { kind: 'user_key', ...key }),
    ),
    ...wanted.federatedIdentities.flatMap(({ issuer, ...facts }, index) => {
      const place = `${path}.federatedIdentities[${index}]`
      const issuerId = issuerIds.get(issuer)
      if (issuerId !== undefined)
        return want(place, { kind: 'federated_identity', issuerId, ...facts, expiresAt: null })
      if (!issuers.refused.has(issuer))
        mistakes.add(`${place}.issuer`, 'trusted_issuer_not_found', `${issuer} is no trusted issuer`)
      return []
    }),
    ...wanted.clientCertificates.flatMap(({ match, value: text, expiresAt }, index) => {
      const place = `${path}.clientCertificates[${index}]`
      const value = mistakes.checked(place, () => parseCertificateValue(match, text))
      return want(place, value === undefined ? undefined : { kind: 'client_certificate', match, value, expiresAt })
    }),
  ]
}
