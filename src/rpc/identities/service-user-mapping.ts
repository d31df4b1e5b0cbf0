/**
 * Between the messages of `iam.user.v2` about users and the domain, both ways. Credentials: `credential-services.ts`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  ServiceUserSchema,
  InstanceRole as WireInstanceRole,
  type ServiceUser as WireServiceUser,
} from '../../../gen/iam/user/v2/service_user_pb.js'
import { formatClientId } from '../../domain/identities/client-id.ts'
import type { InstanceRole } from '../../domain/identities/permission.ts'
import { type ServiceUser, switchesOf } from '../../domain/identities/service-user.ts'
import { fromSeconds } from '../messages/fields.ts'
import { fromMemberRole } from './project-member-mapping.ts'

const TO_WIRE = {
  IAM_OWNER: WireInstanceRole.IAM_OWNER,
  IAM_OWNER_VIEWER: WireInstanceRole.IAM_OWNER_VIEWER,
  IAM_KEY_OPERATOR: WireInstanceRole.IAM_KEY_OPERATOR,
  IAM_AUDITOR: WireInstanceRole.IAM_AUDITOR,
  IAM_USER_ADMINISTRATOR: WireInstanceRole.IAM_USER_ADMINISTRATOR,
} as const satisfies Record<InstanceRole, WireInstanceRole>

const FROM_WIRE = {
  [WireInstanceRole.IAM_OWNER]: 'IAM_OWNER',
  [WireInstanceRole.IAM_OWNER_VIEWER]: 'IAM_OWNER_VIEWER',
  [WireInstanceRole.IAM_KEY_OPERATOR]: 'IAM_KEY_OPERATOR',
  [WireInstanceRole.IAM_AUDITOR]: 'IAM_AUDITOR',
  [WireInstanceRole.IAM_USER_ADMINISTRATOR]: 'IAM_USER_ADMINISTRATOR',
} as const satisfies Record<Exclude<WireInstanceRole, WireInstanceRole.UNSPECIFIED>, InstanceRole>

/** A role over the instance. The rules of the proto must have been checked. */
export function toInstanceRole(role: WireInstanceRole): InstanceRole {
  if (role === WireInstanceRole.UNSPECIFIED) throw new Error('the rules of the proto have not been checked')
  return FROM_WIRE[role]
}

export function fromInstanceRole(role: InstanceRole): WireInstanceRole {
  return TO_WIRE[role]
}

export function fromServiceUser(user: ServiceUser): WireServiceUser {
  const { userId, name, projectId, enabled, customScopes } = user
  const { tokenLifetimeSeconds, tokenClaims } = user
  return create(ServiceUserSchema, {
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
  })
}
