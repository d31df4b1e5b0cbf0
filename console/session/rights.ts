/**
 * What the signed-in user may do with one project or one user, by the rules of the API.
 */
import { ProjectMemberRole as WireMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { type ServiceUser, InstanceRole as WireInstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import {
  INSTANCE_ROLE_NAMES,
  type Permission,
  PROJECT_MEMBER_ROLE_NAMES,
} from '../../src/domain/identities/permission.ts'
import { lackedPermission, type RoleHolder, reachesProject, reachOf } from '../../src/domain/identities/reach.ts'
import { session } from './session.ts'

/** Whether the permission is over the whole instance. */
export function mayEverywhere(permission: Permission): boolean {
  const holder = signedIn()
  return holder !== undefined && reachOf(holder, permission).kind === 'instance'
}

/** Whether the permission reaches the project. */
export function mayWithProject(permission: Permission, projectId: string): boolean {
  const holder = signedIn()
  return holder !== undefined && reachesProject(reachOf(holder, permission), projectId)
}

/**
 * Whether the permission reaches the project of the user, and the user has none that the signed-in user lacks. Self service is not offered:
 * it is for machines.
 */
export function mayWithUser(permission: Permission, user: ServiceUser): boolean {
  const holder = signedIn()
  if (holder === undefined || !reachesProject(reachOf(holder, permission), user.projectId)) return false
  return lackedPermission(holder, rolesOf(user)) === undefined
}

function signedIn(): RoleHolder | undefined {
  if (session.value.kind !== 'signed-in') return undefined
  const { userId, instanceRoles, managedProjects } = session.value.user
  return { userId, instanceRoles, managedProjects: new Map(Object.entries(managedProjects)) }
}

/** Roles of a newer server, which this page does not know, count for nothing. */
function rolesOf({ instanceRoles, managedProjects }: ServiceUser): Omit<RoleHolder, 'userId'> {
  return {
    instanceRoles: INSTANCE_ROLE_NAMES.filter((name) => instanceRoles.includes(WireInstanceRole[name])),
    managedProjects: new Map(
      managedProjects.flatMap(({ projectId, role }) =>
        PROJECT_MEMBER_ROLE_NAMES.filter((name) => WireMemberRole[name] === role).map((name) => [projectId, name]),
      ),
    ),
  }
}
