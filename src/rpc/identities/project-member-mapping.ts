/**
 * Between the messages of `iam.project.v2` about members and the domain, both ways.
 */
import { create } from '@bufbuild/protobuf'
import {
  ProjectMemberSchema,
  type ProjectMember as WireProjectMember,
  ProjectMemberRole as WireProjectMemberRole,
} from '../../../gen/iam/project/v2/project_pb.js'
import type { ProjectMemberRole } from '../../domain/identities/permission.ts'
import type { ProjectMember } from '../../domain/identities/project.ts'

const TO_WIRE = {
  PROJECT_OWNER: WireProjectMemberRole.PROJECT_OWNER,
  PROJECT_OWNER_VIEWER: WireProjectMemberRole.PROJECT_OWNER_VIEWER,
} as const satisfies Record<ProjectMemberRole, WireProjectMemberRole>

const FROM_WIRE = {
  [WireProjectMemberRole.PROJECT_OWNER]: 'PROJECT_OWNER',
  [WireProjectMemberRole.PROJECT_OWNER_VIEWER]: 'PROJECT_OWNER_VIEWER',
} as const satisfies Record<Exclude<WireProjectMemberRole, WireProjectMemberRole.UNSPECIFIED>, ProjectMemberRole>

export function fromMemberRole(role: ProjectMemberRole): WireProjectMemberRole {
  return TO_WIRE[role]
}

/** A role over a project. The rules of the proto must have been checked. */
export function toMemberRole(role: WireProjectMemberRole): ProjectMemberRole {
  if (role === WireProjectMemberRole.UNSPECIFIED) throw new Error('the rules of the proto have not been checked')
  return FROM_WIRE[role]
}

export function fromMember({ userId, name, role }: ProjectMember): WireProjectMember {
  return create(ProjectMemberSchema, { userId, name, role: fromMemberRole(role) })
}
