/**
 * Projects as rows, in both directions.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Project } from '../../domain/identities/project.ts'
import type { Reach } from '../../domain/identities/reach.ts'
import type { Page } from '../../domain/ports.ts'
import { isUuid } from '../../domain/uuid.ts'
import type { Tables } from '../schema/tables.ts'
import { difference } from './difference.ts'

type ProjectRow = Awaited<ReturnType<ReturnType<typeof selectProjects>['execute']>>[number]

/** The project with this id. */
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

/** Writes the difference, and returns whether there is one. */
export async function writeProject(
  trx: Transaction<Tables>,
  before: Project | undefined,
  next: Project | null,
): Promise<boolean> {
  if (next === null) return before !== undefined && (await deleteProject(trx, before))
  const changes = [
    before === undefined ? await insertProject(trx, next) : await updateProject(trx, before, next),
    await writeRoles(trx, before, next),
    await writeScopes(trx, before, next),
    await writeAudiences(trx, before, next),
  ]
  return changes.includes(true)
}

function selectProjects(db: Kysely<Tables>) {
  return db
    .selectFrom('projects as p')
    .select((eb) => [
      'p.project_id',
      'p.name',
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
    createdAt: row.creation_date,
    // Sorted here: the order of text in a database depends on its locale.
    roles: row.roles.map(({ role }) => role).sort(),
    scopes: row.scopes.map(({ scope }) => scope).sort(),
    audiences: row.audiences.map(({ audience }) => audience).sort(),
  }
}

async function insertProject(trx: Transaction<Tables>, project: Project): Promise<true> {
  const row = { project_id: project.projectId, name: project.name, creation_date: project.createdAt }
  await trx.insertInto('projects').values(row).execute()
  return true
}

async function updateProject(trx: Transaction<Tables>, before: Project, next: Project): Promise<boolean> {
  if (next.name === before.name) return false
  await trx.updateTable('projects').set({ name: next.name }).where('project_id', '=', before.projectId).execute()
  return true
}

async function deleteProject(trx: Transaction<Tables>, { projectId }: Project): Promise<true> {
  await trx.deleteFrom('projects').where('project_id', '=', projectId).execute()
  return true
}

async function writeRoles(trx: Transaction<Tables>, before: Project | undefined, next: Project): Promise<boolean> {
  const { removed, added } = difference(before?.roles ?? [], next.roles, (role) => role)
  const { projectId } = next
  if (removed.length > 0) {
    const anyRemoved = sql<boolean>`role = any(${removed}::text[])`
    await trx.deleteFrom('project_roles').where('project_id', '=', projectId).where(anyRemoved).execute()
  }
  if (added.length > 0) {
    const rows = added.map((role) => ({ project_id: projectId, role }))
    await trx.insertInto('project_roles').values(rows).execute()
  }
  return removed.length + added.length > 0
}

async function writeScopes(trx: Transaction<Tables>, before: Project | undefined, next: Project): Promise<boolean> {
  const { removed, added } = difference(before?.scopes ?? [], next.scopes, (scope) => scope)
  const { projectId } = next
  if (removed.length > 0) {
    const anyRemoved = sql<boolean>`scope = any(${removed}::text[])`
    await trx.deleteFrom('project_scopes').where('project_id', '=', projectId).where(anyRemoved).execute()
  }
  if (added.length > 0) {
    const rows = added.map((scope) => ({ project_id: projectId, scope }))
    await trx.insertInto('project_scopes').values(rows).execute()
  }
  return removed.length + added.length > 0
}

async function writeAudiences(trx: Transaction<Tables>, before: Project | undefined, next: Project): Promise<boolean> {
  const { removed, added } = difference(before?.audiences ?? [], next.audiences, (audience) => audience)
  const { projectId } = next
  if (removed.length > 0) {
    const anyRemoved = sql<boolean>`audience = any(${removed}::text[])`
    await trx.deleteFrom('project_audiences').where('project_id', '=', projectId).where(anyRemoved).execute()
  }
  if (added.length > 0) {
    const rows = added.map((audience) => ({ project_id: projectId, audience }))
    await trx.insertInto('project_audiences').values(rows).execute()
  }
  return removed.length + added.length > 0
}
