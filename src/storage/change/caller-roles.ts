/** The roles of a user over projects, as a query has them: of the caller of a change, and of whole users. */
import type { ExpressionBuilder } from 'kysely'
import { parseProjectMemberRole } from '../../domain/identities/permission.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { Tables } from '../schema/tables.ts'

/** One for all users without a role over a project: a replica has many. */
const NO_PROJECTS: ServiceUser['managedProjects'] = new Map()

/** An expression in a query of which `u` is a service user. */
type OfUser = ExpressionBuilder<Tables & { u: Tables['service_users'] }, 'u'>

export function managedProjectsOf(eb: OfUser) {
  return eb
    .selectFrom('project_members as o')
    .whereRef('o.user_id', '=', 'u.user_id')
    .select(['o.project_id', 'o.role'])
    .orderBy('o.project_id')
}

/** The roles over projects of a user. @throws {Error} if one is unknown. */
export function toManagedProjects(
  rows: readonly { readonly project_id: string; readonly role: string }[],
): ServiceUser['managedProjects'] {
  return rows.length === 0
    ? NO_PROJECTS
    : new Map(rows.map(({ project_id, role }) => [project_id, parseProjectMemberRole(role)]))
}
