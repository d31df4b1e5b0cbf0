/**
 * Counts the users outside a plan that lose something with what a plan takes away.
 */
import { type Kysely, sql } from 'kysely'
import type { OtherHolders } from '../../domain/configuration/plan.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { Project } from '../../domain/identities/project.ts'
import type { Tables } from '../schema/tables.ts'

/** What a plan is about. */
interface Planned {
  readonly userIds: readonly string[]
  readonly projects: readonly Project[]
  readonly trustedIssuers: readonly TrustedIssuer[]
}

/** Users with one thing. */
interface Row {
  readonly id: string
  /** Empty: the whole of it. */
  readonly name: string
  readonly kind: 'role' | 'scope' | 'project' | 'issuer'
  readonly users: number
}

/** Those that are not in `userIds`. */
export async function countOtherHolders(
  db: Kysely<Tables>,
  { userIds, projects, trustedIssuers }: Planned,
): Promise<OtherHolders> {
  const projectIds = projects.map(({ projectId }) => projectId)
  const issuerIds = trustedIssuers.map(({ issuerId }) => issuerId)
  const isOther = sql`user_id <> all(${userIds}::uuid[])`
  const ofProjects = sql`project_id = any(${projectIds}::uuid[]) and ${isOther}`
  const { rows } = await sql<Row>`
    select 'role' as kind, project_id as id, role as name, count(*)::int as users
      from user_project_roles where ${ofProjects} group by project_id, role
    union all
    select 'scope', project_id, scope, count(*)::int from user_scopes where ${ofProjects} group by project_id, scope
    union all
    select 'project', project_id, '', count(*)::int from (
      select project_id, user_id from user_project_roles where ${ofProjects}
      union select project_id, user_id from project_members where ${ofProjects}
    ) as holders group by project_id
    union all
    select 'issuer', issuer_id, '', count(distinct user_id)::int
      from federated_identities where issuer_id = any(${issuerIds}::uuid[]) and ${isOther} group by issuer_id
  `.execute(db)
  const wholes = (kind: Row['kind']) =>
    new Map(rows.filter((row) => row.kind === kind).map(({ id, users }) => [id, users]))
  const parts = (kind: Row['kind']) =>
    new Map(
      [
        ...Map.groupBy(
          rows.filter((row) => row.kind === kind),
          ({ id }) => id,
        ),
      ].map(([id, all]) => [id, new Map(all.map(({ name, users }) => [name, users]))]),
    )
  return {
    roles: parts('role'),
    scopes: parts('scope'),
    projects: wholes('project'),
    trustedIssuers: wholes('issuer'),
  }
}
