/**
 * How far the permissions of a user reach: over the whole instance by a role over it, over the projects of which it is a member, and over
 * itself without any role.
 *
 * The table of roles is in `permission.ts`, the rules for changes in `change-rights.ts`.
 */
import { DomainError } from '../errors.ts'
import { allows, allowsInProject, allowsOverItself, PERMISSIONS, type Permission } from './permission.ts'
import type { Project } from './project.ts'
import type { ServiceUser } from './service-user.ts'

export type RoleHolder = Pick<ServiceUser, 'userId' | 'instanceRoles' | 'managedProjects'>

/** What a permission of a user is over. */
export type Reach = { readonly kind: 'instance' } | LimitedReach

/** Users of these projects are within it, and so is the user itself if it is named. */
export interface LimitedReach {
  readonly kind: 'limited'
  readonly projectIds: ReadonlySet<string>
  /** Null: not over itself. */
  readonly userId: string | null
}

export const WHOLE_INSTANCE: Reach = { kind: 'instance' }

export function reachOf({ userId, instanceRoles, managedProjects }: RoleHolder, permission: Permission): Reach {
  if (allows(instanceRoles, permission)) return WHOLE_INSTANCE
  const managed = [...managedProjects].filter(([, role]) => allowsInProject(role, permission))
  return {
    kind: 'limited',
    projectIds: new Set(managed.map(([projectId]) => projectId)),
    userId: allowsOverItself(permission) ? userId : null,
  }
}

/** Whether nothing is within it: the user does not have the permission. */
export function isEmptyReach(reach: Reach): boolean {
  return reach.kind === 'limited' && reach.projectIds.size === 0 && reach.userId === null
}

export function reachesProject(reach: Reach, projectId: string): boolean {
  return reach.kind === 'instance' || reach.projectIds.has(projectId)
}

export function reachesUser(reach: Reach, { userId, projectId }: Pick<ServiceUser, 'userId' | 'projectId'>): boolean {
  return reachesProject(reach, projectId) || (reach.kind === 'limited' && reach.userId === userId)
}

/** A permission that a user has somewhere and `holder` does not have there; undefined if there is none. */
export function lackedPermission(
  holder: RoleHolder,
  { instanceRoles, managedProjects }: Omit<RoleHolder, 'userId'>,
): Permission | undefined {
  return PERMISSIONS.find((permission) => {
    if (allows(holder.instanceRoles, permission)) return false
    const isElsewhere = [...managedProjects].some(
      ([projectId, role]) =>
        allowsInProject(role, permission) && !reachesProject(reachOf(holder, permission), projectId),
    )
    return isElsewhere || allows(instanceRoles, permission)
  })
}

export function visibleProject(reach: Reach, project: Project | undefined): Project | undefined {
  return project !== undefined && reachesProject(reach, project.projectId) ? project : undefined
}

export function visibleUser(reach: Reach, user: ServiceUser | undefined): ServiceUser | undefined {
  return user !== undefined && reachesUser(reach, user) ? user : undefined
}

/** What a user has over the instance or over any project, but not what it has over itself. */
export function permissionsAnywhere({ instanceRoles, managedProjects }: RoleHolder): readonly Permission[] {
  const roles = [...managedProjects.values()]
  return PERMISSIONS.filter(
    (permission) => allows(instanceRoles, permission) || roles.some((role) => allowsInProject(role, permission)),
  )
}

export function permissionMissing(permission: Permission): DomainError {
  return new DomainError('permission_missing', `the permission ${permission} is required`, { metadata: { permission } })
}

/** Any token with `iam.token.read`; otherwise those for its own project, by its id or one of its audiences (RFC 7662 §4). */
export function mayIntrospect(
  caller: Pick<ServiceUser, 'instanceRoles' | 'projectId' | 'projectsByAudience'>,
  audience: readonly string[],
): boolean {
  const { instanceRoles, projectId, projectsByAudience } = caller
  if (allows(instanceRoles, 'iam.token.read')) return true
  return audience.some((item) => item === projectId || projectsByAudience.get(item) === projectId)
}
