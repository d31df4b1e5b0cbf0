/** Counts the users outside a plan that lose something with what the plan takes away. */
import { type Kysely, sql } from 'kysely'
import type { ConfigurationPlan, ConfiguredState } from '../../domain/configuration/plan.ts'
import type { Tables } from '../schema/tables.ts'

/** How many users lose a role or a scope, or something with the whole resource, whose field and name are empty. */
interface Row {
  readonly field: string
  readonly id: string
  readonly name: string
  readonly users: number
}

/** The plan with these numbers. */
export async function withLosingUsers(
  db: Kysely<Tables>,
  { users }: Pick<ConfiguredState, 'users'>,
  plan: ConfigurationPlan,
): Promise<ConfigurationPlan> {
  const gone = plan.changes.filter(({ next }) => next === null).map(({ id }) => id)
  const parts = plan.changes.flatMap(({ id, fields }) =>
    fields.filter(({ after }) => after === '').map(({ field, before }) => ({ field, id, name: before })),
  )
  const taken = (field: 'roles' | 'scopes', column: 'role' | 'scope') => {
    const of = parts.filter((part) => part.field === field)
    const [ids, names] = [of.map(({ id }) => id), of.map(({ name }) => name)]
    return sql`unnest(${ids}::uuid[], ${names}::text[]) as taken (project_id, ${sql.ref(column)})`
  }
  const isOther = sql`user_id <> all(${users.map(({ userId }) => userId)}::uuid[])`
  const ofGone = sql`project_id = any(${gone}::uuid[]) and ${isOther}`
  const { rows } = await sql<Row>`
    select 'roles' as field, project_id as id, role as name, count(*)::int as users
      from user_project_roles join ${taken('roles', 'role')} using (project_id, role) where ${isOther} group by project_id, role
    union all
    select 'scopes', project_id, scope, count(*)::int
      from user_scopes join ${taken('scopes', 'scope')} using (project_id, scope) where ${isOther} group by project_id, scope
    union all
    select '', project_id, '', count(*)::int from (
      select project_id, user_id from user_project_roles where ${ofGone}
      union select project_id, user_id from project_members where ${ofGone}
    ) as holders group by project_id
    union all
    select '', issuer_id, '', count(distinct user_id)::int
      from credentials where issuer_id = any(${gone}::uuid[]) and ${isOther} group by issuer_id
  `.execute(db)
  const counts = new Map(rows.map(({ field, id, name, users: count }) => [`${field} ${id} ${name}`, count]))
  return {
    ...plan,
    changes: plan.changes.map((change) => ({
      ...change,
      otherUsers: counts.get(` ${change.id} `) ?? 0,
      fields: change.fields.map((each) => {
        return { ...each, otherUsers: counts.get(`${each.field} ${change.id} ${each.before}`) ?? 0 }
      }),
    })),
  }
}
