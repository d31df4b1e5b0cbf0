/**
 * Which rules over several projects and users the schema holds, and what callers are told when it does.
 */
import { DomainError, type DomainErrorCode } from '../../domain/errors.ts'

/** What is being changed: the same constraint refuses to delete a project and to create a user. */
export type Changed = 'project' | 'user'

/** Constraints by name, as the migrations gave it to them. */
const REFUSALS: Readonly<Record<string, Partial<Record<Changed, readonly [DomainErrorCode, string]>>>> = {
  projects_name_unique: { project: ['project_name_taken', 'another project has this name'] },
  service_users_project_id_fkey: {
    project: ['project_has_users', 'the project has service users: delete them first'],
    user: ['project_not_found', 'there is no such project'],
  },
  user_project_roles_role_exists: { user: ['project_role_not_found', 'the project has no such role'] },
  user_scopes_scope_exists: { user: ['project_scope_not_found', "the user's project has no such scope"] },
}

/** What the domain calls an error of the database, or the error itself if it is no refusal. */
export function toRefusal(error: unknown, changed: Changed): unknown {
  const constraint = typeof error === 'object' && error !== null && 'constraint' in error ? error.constraint : undefined
  if (typeof constraint !== 'string' || !Object.hasOwn(REFUSALS, constraint)) return error
  const refusal = REFUSALS[constraint]?.[changed]
  return refusal === undefined ? error : new DomainError(refusal[0], refusal[1], { cause: error })
}
