/**
 * Which changes of projects and users are within the right of a caller. The stores ask under the lock, with the roles as they are then.
 *
 * What the caller may not see is refused in the same words as what does not exist, so that ids and names cannot be probed.
 */
import { DomainError } from '../errors.ts'
import { credentialsOf, liveCredentials } from './credential.ts'
import { allows, type Permission } from './permission.ts'
import { type Project, projectNotFound, roleNotFound } from './project.ts'
import { lackedPermission, permissionMissing, type RoleHolder, reachesProject, reachesUser, reachOf } from './reach.ts'
import type { ServiceUser } from './service-user.ts'

export interface ChangeRight {
  readonly holder: RoleHolder
  readonly permission: Permission
}

export interface UserChange {
  /** Undefined: it is created. */
  readonly before: ServiceUser | undefined
  /** Null: it is deleted. */
  readonly next: ServiceUser | null
}

/** @throws {DomainError} `permission_missing` unless the right is over the whole instance. */
export function assertOverInstance({ holder, permission }: ChangeRight): void {
  if (!allows(holder.instanceRoles, permission)) throw permissionMissing(permission)
}

/** The project as the caller finds it: undefined also if it may not see it. @throws {DomainError} `permission_missing` if it may only see it. */
export function changeableProject(
  { holder, permission }: ChangeRight,
  project: Project | undefined,
): Project | undefined {
  if (project === undefined) return undefined
  if (reachesProject(reachOf(holder, permission), project.projectId)) return project
  if (!reachesProject(reachOf(holder, 'iam.project.read'), project.projectId)) return undefined
  throw permissionMissing(permission)
}

/** Like `changeableProject`, for a user. */
export function changeableUser(
  { holder, permission }: ChangeRight,
  user: ServiceUser | undefined,
): ServiceUser | undefined {
  if (user === undefined || reachesUser(reachOf(holder, permission), user)) return user
  if (!reachesUser(reachOf(holder, 'iam.user.read'), user)) return undefined
  throw permissionMissing(permission)
}

/**
 * Grants of another project need the permission over that project too, the caller gets hold of no permission that it does not have, and a user
 * that is reached only by itself keeps to the rules of self service.
 *
 * @throws {DomainError} `project_not_found`, `project_role_not_found`, `permission_missing`, `permission_not_held`, `client_secret_missing`,
 * `expiration_too_late`.
 */
export function assertMayChangeUser(right: ChangeRight, change: UserChange, clock: Date): void {
  const { before, next } = change
  if (before === undefined && next !== null) {
    assertReachesProject(right, next.projectId, () => projectNotFound(next.projectId))
  }
  for (const projectId of grantedProjects(change)) {
    assertReachesProject(right, projectId, roleNotFound)
  }
  for (const projectId of changedMemberships(change)) {
    assertReachesProject(right, projectId, () => projectNotFound(projectId))
  }
  for (const user of [before, next]) {
    if (user !== undefined && user !== null) assertHoldsAll(right.holder, user)
  }
  if (before !== undefined && next !== null && isSelfService(right, before)) assertOwnSecrets(before, next, clock)
}

/** Those of which the user gets a role that its tokens carry. */
function grantedProjects({ before, next }: UserChange): readonly string[] {
  return [...(next?.projectRoles ?? [])]
    .filter(([projectId, roles]) => {
      const had = before?.projectRoles.get(projectId) ?? []
      return roles.some((role) => !had.includes(role))
    })
    .map(([projectId]) => projectId)
}

/** Those over which the user gets another role in the API, or loses it. A deletion takes them without another right. */
function changedMemberships({ before, next }: UserChange): readonly string[] {
  if (next === null) return []
  const projectIds = new Set([...(before?.managedProjects.keys() ?? []), ...next.managedProjects.keys()])
  return [...projectIds].filter(
    (projectId) => before?.managedProjects.get(projectId) !== next.managedProjects.get(projectId),
  )
}

function assertReachesProject(
  { holder, permission }: ChangeRight,
  projectId: string,
  notFound: () => DomainError,
): void {
  if (reachesProject(reachOf(holder, permission), projectId)) return
  const isVisible = reachesProject(reachOf(holder, 'iam.project.read'), projectId)
  throw isVisible ? permissionMissing(permission) : notFound()
}

/** Refuses privilege escalation, also by a credential of a user who has more. @throws {DomainError} `permission_not_held`. */
function assertHoldsAll(holder: RoleHolder, user: ServiceUser): void {
  const permission = lackedPermission(holder, user)
  if (permission === undefined) return
  throw new DomainError(
    'permission_not_held',
    `the user has or would have the permission ${permission} where you do not: only a caller who has it too may change the user`,
    { metadata: { permission } },
  )
}

function isSelfService({ holder, permission }: ChangeRight, { projectId }: ServiceUser): boolean {
  return !reachesProject(reachOf(holder, permission), projectId)
}

/** A token that was stolen must not become more than a secret that the user has anyway. @throws {DomainError} as above. */
function assertOwnSecrets(before: ServiceUser, next: ServiceUser, clock: Date): void {
  const known = new Set(before.credentials.map(({ credentialId }) => credentialId))
  const added = credentialsOf(next, 'client_secret').filter(({ credentialId }) => !known.has(credentialId))
  const live = liveCredentials(before, 'client_secret', clock)
  if (added.length > 0 && live.length === 0) {
    throw new DomainError(
      'client_secret_missing',
      'a user without a working client secret generates none for itself: an administrator has to',
    )
  }
  const latest = Math.max(...live.map(({ expiresAt }) => expiresAt?.getTime() ?? Number.POSITIVE_INFINITY))
  if (added.some(({ expiresAt }) => (expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) > latest)) {
    const date = new Date(latest).toISOString()
    throw new DomainError(
      'expiration_too_late',
      `a secret that a user generates for itself must expire no later than the one that works longest: ${date}`,
      { metadata: { latest_expiration_date: date } },
    )
  }
}
