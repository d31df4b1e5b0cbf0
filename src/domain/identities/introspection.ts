/**
 * Who may learn about a token that others present (RFC 7662 §4): services that the token is meant for, and users with a permission.
 */
import { allows } from './permission.ts'
import type { ServiceUser } from './service-user.ts'

/**
 * Whether a service user may introspect a token: with the permission `iam.token.read` any token, otherwise those for its own project,
 * by the id of the project or one of its audiences.
 */
export function mayIntrospect(
  caller: Pick<ServiceUser, 'instanceRoles' | 'projectId' | 'projectsByAudience'>,
  audience: readonly string[],
): boolean {
  const { instanceRoles, projectId, projectsByAudience } = caller
  if (allows(instanceRoles, 'iam.token.read')) return true
  return audience.some((item) => item === projectId || projectsByAudience.get(item) === projectId)
}
