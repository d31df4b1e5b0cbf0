/**
 * The names of the roles over the instance.
 */
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'

export const INSTANCE_ROLES: Readonly<Record<InstanceRole, string>> = {
  [InstanceRole.UNSPECIFIED]: 'unknown',
  [InstanceRole.IAM_OWNER]: 'IAM_OWNER',
  [InstanceRole.IAM_OWNER_VIEWER]: 'IAM_OWNER_VIEWER',
  [InstanceRole.IAM_KEY_OPERATOR]: 'IAM_KEY_OPERATOR',
  [InstanceRole.IAM_AUDITOR]: 'IAM_AUDITOR',
  [InstanceRole.IAM_USER_ADMINISTRATOR]: 'IAM_USER_ADMINISTRATOR',
}
