/**
 * The roles over the instance, by the names that the command line and the documentation use.
 */
import { InstanceRole } from '../../../gen/iam/user/v2/service_user_pb.js'

/** The roles that can be granted, by name. */
export const INSTANCE_ROLES = {
  IAM_OWNER: InstanceRole.IAM_OWNER,
  IAM_OWNER_VIEWER: InstanceRole.IAM_OWNER_VIEWER,
  IAM_KEY_OPERATOR: InstanceRole.IAM_KEY_OPERATOR,
  IAM_AUDITOR: InstanceRole.IAM_AUDITOR,
  IAM_USER_ADMINISTRATOR: InstanceRole.IAM_USER_ADMINISTRATOR,
} as const

/** The name of a role that can be granted. */
export type InstanceRoleName = keyof typeof INSTANCE_ROLES

/** The name of a role; a role that this version does not know is named by its number. */
export function instanceRoleName(role: InstanceRole): string {
  return Object.entries(INSTANCE_ROLES).find(([, value]) => value === role)?.[0] ?? `unknown (${role})`
}
