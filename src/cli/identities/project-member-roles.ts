/**
 * The roles over a project, by the names that the command line and the documentation use.
 */
import { ProjectMemberRole } from '../../../gen/iam/project/v2/project_pb.js'

/** The roles that can be given, by name. */
export const PROJECT_MEMBER_ROLES = {
  PROJECT_OWNER: ProjectMemberRole.PROJECT_OWNER,
  PROJECT_OWNER_VIEWER: ProjectMemberRole.PROJECT_OWNER_VIEWER,
} as const

/** The name of a role that can be given. */
export type ProjectMemberRoleName = keyof typeof PROJECT_MEMBER_ROLES

/** The name of a role; a role that this version does not know is named by its number. */
export function projectMemberRoleName(role: ProjectMemberRole): string {
  return Object.entries(PROJECT_MEMBER_ROLES).find(([, value]) => value === role)?.[0] ?? `unknown (${role})`
}
