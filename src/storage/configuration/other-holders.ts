/**
 * Counts the users outside a plan that lose something with what a plan takes away. What stays is not counted: a project may have very many users.
 */
import { type Kysely, sql } from 'kysely'
import type { ConfiguredState, OtherHolders } from '../../domain/configuration/plan.ts'
import type { Project } from '../../domain/identities/project.ts'
import type { ConfigurationSubject } from '../../domain/ports/configuration.ts'
import type { Tables } from '../schema/tables.ts'

/** A role or a scope of a project. */
interface Part {
  readonly projectId: string
  readonly name: string
}

/** What a plan may take away. */
interface TakenAway {
  readonly roles: readonly Part[]
  readonly scopes: readonly Part[]
  readonly projectIds: readonly string[]
  readonly issuerIds: readonly string[]
}

/** Users with one thing. */
interface Row {
  readonly kind: 'role' | 'scope' | 'project' | 'issuer'
  readonly id: string
  /** Empty: the whole of it. */
  readonly name: string
  readonly users: number
}

export function takenAway(
  { kept, issuers, label }: ConfigurationSubject,
  { projects, trustedIssuers, labels }: Pick<ConfiguredState, 'projects' | 'trustedIssuers' | 'labels'>,
): TakenAway {
  const keptOf = new Map(kept.map((project) => [project.name, project]))
  const isPruned = (id: string) => label !== null && labels.get(id) === label
  const parts = (list: 'roles' | 'scopes') =>
    projects.flatMap((project) => {
      const stays = keptOf.get(project.name)
      return stays === undefined ? [] : without(project, list, new Set(stays[list]))
    })
  return {
    roles: parts('roles'),
    scopes: parts('scopes'),
    projectIds: projects
      .filter(({ name, projectId }) => !keptOf.has(name) && isPruned(projectId))
      .map(({ projectId }) => projectId),
    issuerIds: trustedIssuers
      .filter(({ issuer, issuerId }) => !issuers.includes(issuer) && isPruned(issuerId))
      .map(({ issuerId }) => issuerId),
  }
}

function without(project: Project, list: 'roles' | 'scopes', stays: ReadonlySet<string>): Part[] {
  const { projectId } = project
  return project[list].filter((name) => !stays.has(name)).map((name) => ({ projectId, name }))
}

/** @param userIds Users of the plan, who are not counted. */
export async function countOtherHolders(
  db: Kysely<Tables>,
  { roles, scopes, projectIds, issuerIds }: TakenAway,
  userIds: readonly string[],
): Promise<OtherHolders> {
  const isOther = sql`user_id <> all(${userIds}::uuid[])`
  const ofProjects = sql`project_id = any(${projectIds}::uuid[]) and ${isOther}`
  const { rows } = await sql<Row>`
    select 'role' as kind, project_id as id, role as name, count(*)::int as users
      from user_project_roles join ${tableOf(roles, 'role')} using (project_id, role) where ${isOther} group by project_id, role
    union all
    select 'scope', project_id, scope, count(*)::int
      from user_scopes join ${tableOf(scopes, 'scope')} using (project_id, scope) where ${isOther} group by project_id, scope
    union all
    select 'project', project_id, '', count(*)::int from (
      select project_id, user_id from user_project_roles where ${ofProjects}
      union select project_id, user_id from project_members where ${ofProjects}
    ) as holders group by project_id
    union all
    select 'issuer', issuer_id, '', count(distinct user_id)::int
      from credentials where issuer_id = any(${issuerIds}::uuid[]) and ${isOther} group by issuer_id
  `.execute(db)
  const wholes = (kind: Row['kind']) =>
    new Map(rows.filter((row) => row.kind === kind).map(({ id, users }) => [id, users]))
  const parts = (kind: Row['kind']) => {
    const byProject = Map.groupBy(
      rows.filter((row) => row.kind === kind),
      ({ id }) => id,
    )
    return new Map([...byProject].map(([id, all]) => [id, new Map(all.map(({ name, users }) => [name, users]))]))
  }
  return { roles: parts('role'), scopes: parts('scope'), projects: wholes('project'), trustedIssuers: wholes('issuer') }
}

function tableOf(parts: readonly Part[], column: 'role' | 'scope') {
  const projectIds = parts.map(({ projectId }) => projectId)
  const names = parts.map(({ name }) => name)
  return sql`unnest(${projectIds}::uuid[], ${names}::text[]) as taken (project_id, ${sql.ref(column)})`
}
