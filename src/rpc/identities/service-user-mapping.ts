/** Between the messages of `iam.user.v2` about users and the domain, both ways. Credentials: `credential-services.ts`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { ProjectMemberRole as WireMemberRole } from '../../../gen/iam/project/v2/project_pb.js'
import { type ServiceUserSchema, InstanceRole as WireInstanceRole } from '../../../gen/iam/user/v2/service_user_pb.js'
import { formatClientId } from '../../domain/identities/client-id.ts'
import type { InstanceRole, ProjectMemberRole } from '../../domain/identities/permission.ts'
import { type ServiceUser, switchesOf } from '../../domain/identities/service-user.ts'
import { fromSeconds } from '../messages/fields.ts'

/** A role over the instance, which has the same name on the wire. The rules of the proto must have been checked. */
export function toInstanceRole(role: WireInstanceRole): InstanceRole {
  return WireInstanceRole[role] as InstanceRole
}

export function fromInstanceRole(role: InstanceRole): WireInstanceRole {
  return WireInstanceRole[role]
}

/** A role over a project, which has the same name on the wire. The rules of the proto must have been checked. */
export function toMemberRole(role: WireMemberRole): ProjectMemberRole {
  return WireMemberRole[role] as ProjectMemberRole
}

export function fromMemberRole(role: ProjectMemberRole): WireMemberRole {
  return WireMemberRole[role]
}

export function fromServiceUser(user: ServiceUser): MessageInitShape<typeof ServiceUserSchema> {
  const { userId, name, projectId, enabled, customScopes } = user
  const { tokenLifetimeSeconds, tokenClaims } = user
  return {
    userId,
    clientId: formatClientId(user),
    name,
    projectId,
    enabled,
    ...switchesOf(user),
    instanceRoles: user.instanceRoles.map(fromInstanceRole),
    managedProjects: [...user.managedProjects]
      .map(([id, role]) => ({ projectId: id, role: fromMemberRole(role) }))
      .sort((a, b) => (a.projectId < b.projectId ? -1 : 1)),
    projectRoles: [...user.projectRoles]
      .map(([id, roles]) => ({ projectId: id, roles: [...roles] }))
      .sort((a, b) => (a.projectId < b.projectId ? -1 : 1)),
    scopes: [...customScopes],
    creationDate: timestampFromDate(user.createdAt),
    ...(tokenLifetimeSeconds === null ? {} : { tokenLifetime: fromSeconds(tokenLifetimeSeconds) }),
    tokenClaims: Object.keys(tokenClaims).length === 0 ? '' : JSON.stringify(tokenClaims),
  }
}
