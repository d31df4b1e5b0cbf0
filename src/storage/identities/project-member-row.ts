/**
 * Who has a role over a project. Roles are written with the user who has them (`service-user-changes.ts`).
 */
import type { Kysely } from 'kysely'
import { parseProjectMemberRole } from '../../domain/identities/permission.ts'
import type { ProjectMember } from '../../domain/identities/project.ts'
import type { Page } from '../../domain/ports/page.ts'
import { isUuid } from '../../domain/uuid.ts'
import type { Tables } from '../schema/tables.ts'

/** A page of the members of a project, ordered by user id. */
export async function readMembers(
  db: Kysely<Tables>,
  projectId: string,
  { after, limit }: Page<string>,
): Promise<readonly ProjectMember[]> {
  if (!isUuid(projectId) || (after !== null && !isUuid(after))) return []
  const rows = await db
    .selectFrom('project_members as m')
    .innerJoin('service_users as u', 'u.user_id', 'm.user_id')
    .where('m.project_id', '=', projectId)
    .$if(after !== null, (query) => query.where('m.user_id', '>', after))
    .select(['m.user_id', 'u.name', 'm.role'])
    .orderBy('m.user_id')
    .limit(limit)
    .execute()
  return rows.map(({ user_id, name, role }) => ({ userId: user_id, name, role: parseProjectMemberRole(role) }))
}
