/** Projects as rows, in both directions, and who has a role over one: roles are written with the user who has them. */
import { type Kysely, sql, type Transaction } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import { isUuid } from '../../domain/identifiers.ts'
import { parseProjectMemberRole } from '../../domain/identities/permission.ts'
import type { Project, ProjectMember } from '../../domain/identities/project.ts'
import type { Reach } from '../../domain/identities/reach.ts'
import type { Page } from '../../domain/ports/identities.ts'
import type { Tables } from '../schema/tables.ts'
import { pairsOf, type RowsOf, writeRows } from '../schema/write-rows.ts'

type ProjectRow = Awaited<ReturnType<ReturnType<typeof selectProjects>['execute']>>[number]

export async function readProject(db: Kysely<Tables>, projectId: string): Promise<Project | undefined> {
  if (!isUuid(projectId)) return undefined
  const row = await selectProjects(db).where('p.project_id', '=', projectId).executeTakeFirst()
  return row === undefined ? undefined : toProject(row)
}

/** A page of the projects within a reach, ordered by name, byte by byte. */
export async function readProjects(db: Kysely<Tables>, page: Page<string>, reach: Reach): Promise<readonly Project[]> {
  const name = sql<string>`p.name collate "C"`
  const rows = await selectProjects(db)
    .$if(page.after !== null, (query) => query.where(name, '>', page.after))
    .$if(reach.kind === 'limited', (query) =>
      query.where(sql<boolean>`p.project_id = any(${reach.kind === 'limited' ? [...reach.projectIds] : []}::uuid[])`),
    )
    .orderBy(name)
    .limit(page.limit)
    .execute()
  return rows.map(toProject)
}

export async function readProjectsByIds(
  db: Kysely<Tables>,
  projectIds: readonly string[],
): Promise<readonly Project[]> {
  const ids = [...new Set(projectIds)]
  if (ids.length === 0) return []
  const rows = await selectProjects(db).where(sql<boolean>`p.project_id = any(${ids}::uuid[])`).execute()
  return rows.map(toProject)
}

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

/** A project before and after a change. Undefined: it is created; null: it is deleted. */
export type ProjectChange = readonly [before: Project | undefined, next: Project | null]

/** Writes the differences, and returns whether there are any. */
export async function writeProjects(trx: Transaction<Tables>, changes: readonly ProjectChange[]): Promise<boolean> {
  const pairs = pairsOf(changes)
  const written: boolean[] = []
  for (const rows of ROWS) written.push(await writeRows(trx, rows, pairs))
  return written.includes(true)
}

function selectProjects(db: Kysely<Tables>) {
  return db
    .selectFrom('projects as p')
    .select((eb) => [
      'p.project_id',
      'p.name',
      'p.roles_claim',
      'p.creation_date',
      jsonArrayFrom(
        eb.selectFrom('project_roles as r').whereRef('r.project_id', '=', 'p.project_id').select('r.role'),
      ).as('roles'),
      jsonArrayFrom(
        eb.selectFrom('project_scopes as s').whereRef('s.project_id', '=', 'p.project_id').select('s.scope'),
      ).as('scopes'),
      jsonArrayFrom(
        eb.selectFrom('project_audiences as a').whereRef('a.project_id', '=', 'p.project_id').select('a.audience'),
      ).as('audiences'),
    ])
}

function toProject(row: ProjectRow): Project {
  return {
    projectId: row.project_id,
    name: row.name,
    rolesClaim: row.roles_claim,
    createdAt: row.creation_date,
    // Sorted here: the order of text in a database depends on its locale.
    roles: row.roles.map(({ role }) => role).sort(),
    scopes: row.scopes.map(({ scope }) => scope).sort(),
    audiences: row.audiences.map(({ audience }) => audience).sort(),
  }
}

const ROWS: readonly RowsOf<Project>[] = [
  {
    table: 'projects',
    key: ['project_id'],
    rows: ({ projectId, name, rolesClaim, createdAt }) => [
      { project_id: projectId, name, roles_claim: rolesClaim, creation_date: createdAt },
    ],
  },
  {
    table: 'project_roles',
    key: ['project_id', 'role'],
    rows: ({ projectId, roles }) => roles.map((role) => ({ project_id: projectId, role })),
  },
  {
    table: 'project_scopes',
    key: ['project_id', 'scope'],
    rows: ({ projectId, scopes }) => scopes.map((scope) => ({ project_id: projectId, scope })),
  },
  {
    table: 'project_audiences',
    key: ['project_id', 'audience'],
    rows: ({ projectId, audiences }) => audiences.map((audience) => ({ project_id: projectId, audience })),
  },
]
