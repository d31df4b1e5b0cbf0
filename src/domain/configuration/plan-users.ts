/** The service users of a plan, with their grants and credentials. */
import type { TrustedIssuer } from '../federation/trusted-issuer.ts'
import { parseCertificateValue } from '../identities/client-certificate.ts'
import { addCredential, isLive, removeCredential, type UserCredential } from '../identities/credential.ts'
import type { ProjectMemberRole } from '../identities/permission.ts'
import type { Project } from '../identities/project.ts'
import { createServiceUser, type ServiceUser, settleChange, switchesOf } from '../identities/service-user.ts'
import { parseTokenClaims, parseTokenLifetime } from '../identities/token-settings.ts'
import type { ServiceUserConfiguration } from './configuration.ts'
import {
  CONFIGURED_KINDS,
  type ConfiguredCredential,
  claimsInWords,
  credentialInWords,
  type Names,
  userFacts,
} from './description.ts'
import { keyOf, type PlannedResources, type Planning, planResources } from './plan-resources.ts'

/** For one user: what it shall be like, and what the plan leads to otherwise, by name. */
interface UserPlanning extends Planning {
  readonly wanted: ServiceUserConfiguration
  readonly path: string
  readonly projects: ReadonlyMap<string, Project>
  readonly issuers: ReadonlyMap<string, TrustedIssuer>
  readonly names: Names
}

export function planUsers(
  { projects, issuers }: Pick<UserPlanning, 'projects' | 'issuers'>,
  planning: Planning,
): PlannedResources<'service_user', ServiceUser> {
  const { configuration, state, options, mistakes } = planning
  const names: Names = {
    projects: new Map([...state.projects, ...projects.values()].map(({ projectId, name }) => [projectId, name])),
    issuers: new Map([...state.trustedIssuers, ...issuers.values()].map(({ issuerId, issuer }) => [issuerId, issuer])),
    thumbprintOf: options.thumbprintOf,
  }
  const nameOf = (user: ServiceUserConfiguration | ServiceUser) => {
    return { project: 'projectName' in user ? user.projectName : user.project, name: user.name }
  }
  const existing = Map.groupBy(state.users, (user) => keyOf(nameOf(user)))
  return planResources(
    {
      kind: 'service_user',
      path: ['serviceUsers', 'name'],
      configured: configuration.serviceUsers,
      existing: state.users,
      nameOf,
      idOf: ({ userId }) => userId,
      factsOf: (user) => userFacts(user, names),
      plan: (wanted, path, before) => {
        const { name } = wanted
        const project = projects.get(wanted.project)
        if (project === undefined) {
          mistakes.add(`${path}.project`, 'project_not_found', `there is no project ${wanted.project}`)
          return undefined
        }
        const same = existing.get(keyOf(wanted)) ?? []
        if (same.length > 1) {
          const ids = same.map(({ userId }) => userId).join(', ')
          const message = `the project has ${same.length} users with this name: rename or delete all but one of ${ids}`
          mistakes.add(`${path}.name`, 'user_name_not_unique', message)
          return undefined
        }
        const { projectId, name: projectName } = project
        const facts = { userId: options.newId(), name, projectId, projectName, clientCredentialsEnabled: true }
        const start = before ?? createServiceUser(facts, options.moment.date)
        const user: UserPlanning = { ...planning, wanted, path, projects, issuers, names }
        const next = planCredentials(planGrants(planSettings(start, user), user), user)
        return { start, next: mistakes.checked(path, () => settleChange(before, next, options.moment.clock)) ?? next }
      },
    },
    planning,
  )
}

/** What the user has already is not refused for a limit or a rule that came later. */
function planSettings(user: ServiceUser, { wanted, path, options, mistakes }: UserPlanning): ServiceUser {
  const { enabled, instanceRoles, tokenLifetimeSeconds: seconds, tokenClaims: json } = wanted
  const lifetime =
    seconds === null || seconds === user.tokenLifetimeSeconds
      ? seconds
      : mistakes.checked(`${path}.tokenLifetime`, () =>
          parseTokenLifetime(seconds, options.limits.tokenLifetimeSeconds),
        )
  const claims = isSameClaims(json, user)
    ? user.tokenClaims
    : mistakes.checked(`${path}.tokenClaims`, () => (json === '' ? {} : parseTokenClaims(json)))
  return {
    ...user,
    ...switchesOf(wanted),
    enabled,
    instanceRoles: [...new Set(instanceRoles)].sort(),
    tokenLifetimeSeconds: lifetime ?? null,
    tokenClaims: claims ?? user.tokenClaims,
  }
}

function isSameClaims(json: string, { tokenClaims }: ServiceUser): boolean {
  try {
    return claimsInWords(JSON.parse(json || '{}')) === claimsInWords(tokenClaims)
  } catch {
    return false
  }
}

/** The grants of the configuration, but for those with a mistake. */
function planGrants(
  before: ServiceUser,
  { wanted, path, projects, configuration, mistakes }: UserPlanning,
): ServiceUser {
  const find = (name: string, place: string) => {
    const project = projects.get(name)
    if (project === undefined) mistakes.add(`${path}.${place}`, 'project_not_found', `there is no project ${name}`)
    return project
  }
  /** What a rule refused of the project is a mistake already. */
  const has = (list: 'roles' | 'scopes', name: string, { project, place }: { project: string; place: string }) => {
    if (projects.get(project)?.[list].includes(name)) return true
    const one = list === 'roles' ? 'role' : 'scope'
    const message = `the project ${project} has no ${one} ${JSON.stringify(name)}`
    if (!configuration.projects.some((each) => each.name === project && each[list].includes(name)))
      mistakes.add(`${path}.${place}`, `project_${one}_not_found`, message)
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

/** Takes away what is not wanted, and adds what is missing. What has expired is left alone until another one of its kind is added. */
function planCredentials(before: ServiceUser, planning: UserPlanning): ServiceUser {
  const { names, mistakes, options } = planning
  const { moment, newId } = options
  const wants = new Map([...wantedCredentials(planning)].map((want) => [credentialInWords(want.facts, names), want]))
  const had = before.credentials.filter(isConfigured).map((credential) => {
    return { credential, words: credentialInWords(credential, names) }
  })
  const known = new Set(had.map(({ words }) => words))
  const added = [...wants].filter(([words]) => !known.has(words)).map(([, want]) => want)
  let next = before
  for (const { credential, words } of had) {
    const { kind, credentialId } = credential
    const isInTheWay = isLive(credential, moment.clock) || added.some(({ facts }) => facts.kind === kind)
    if (!wants.has(words) && isInTheWay) next = removeCredential(next, kind, credentialId)
  }
  for (const { facts, path } of added) {
    const credential = { ...facts, credentialId: newId(), createdAt: moment.date }
    next = mistakes.checked(path, () => addCredential(next, credential, moment.clock)) ?? next
  }
  return next
}

function isConfigured(credential: UserCredential): credential is UserCredential & ConfiguredCredential {
  return CONFIGURED_KINDS.some((kind) => kind === credential.kind)
}

/** As a configuration has them, but for those with a mistake. */
function* wantedCredentials({
  wanted,
  path,
  issuers,
  configuration,
  mistakes,
}: UserPlanning): Iterable<{ readonly facts: ConfiguredCredential; readonly path: string }> {
  for (const [index, key] of wanted.publicKeys.entries())
    if (key !== null) yield { path: `${path}.publicKeys[${index}]`, facts: { kind: 'user_key', ...key } }
  for (const [index, { issuer, ...identity }] of wanted.federatedIdentities.entries()) {
    const place = `${path}.federatedIdentities[${index}]`
    const issuerId = issuers.get(issuer)?.issuerId
    if (issuerId !== undefined)
      yield { path: place, facts: { kind: 'federated_identity', issuerId, ...identity, expiresAt: null } }
    // What a rule refused is a mistake already.
    else if (!configuration.trustedIssuers.some((each) => each.issuer === issuer))
      mistakes.add(`${place}.issuer`, 'trusted_issuer_not_found', `${issuer} is no trusted issuer`)
  }
  for (const [index, { match, value: text, expiresAt }] of wanted.clientCertificates.entries()) {
    const place = `${path}.clientCertificates[${index}]`
    const value = mistakes.checked(place, () => parseCertificateValue(match, text))
    if (value !== undefined) yield { path: place, facts: { kind: 'client_certificate', match, value, expiresAt } }
  }
}
