/**
 * Service users as rows: one query for any number of them, and the mapping to the domain.
 *
 * The database is outside: a row that is no service user of the domain is refused, never repaired.
 */
import { sql, type Transaction } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import { parseInstanceRole } from '../domain/permission.ts'
import type { ClientSecret, ServiceUser } from '../domain/service-user.ts'
import type { Tables } from './tables.ts'

/** The one spelling that user ids have; PostgreSQL would take others for the same id. */
const USER_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

type ServiceUserRow = Awaited<ReturnType<typeof selectRows>>[number]

/** Reads the users with these ids. An id that nobody has, or nobody can have, is left out. */
export async function readServiceUsers(
  trx: Transaction<Tables>,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, ServiceUser>> {
  const possible = [...new Set(userIds)].filter((userId) => USER_ID.test(userId))
  if (possible.length === 0) return new Map()
  const rows = await selectRows(trx, possible)
  return new Map(rows.map((row) => [row.user_id, toServiceUser(row)]))
}

/** What belongs to a user comes as JSON, which has no bytes: hashes are hexadecimal in it. */
async function selectRows(trx: Transaction<Tables>, userIds: readonly string[]) {
  return await trx
    .selectFrom('service_users as u')
    .innerJoin('projects as p', 'p.project_id', 'u.project_id')
    // One array instead of a list: the number of parameters of a query is limited.
    .where(sql<boolean>`u.user_id = any(${userIds}::uuid[])`)
    .select((eb) => [
      'u.user_id',
      'u.name',
      'u.project_id',
      'p.name as project_name',
      'u.enabled',
      'u.client_credentials_enabled',
      jsonArrayFrom(
        eb
          .selectFrom('client_secrets as s')
          .whereRef('s.user_id', '=', 'u.user_id')
          .select([
            's.secret_id',
            sql<string>`encode(s.hash, 'hex')`.as('hash'),
            's.expiration_date',
            's.deactivation_date',
          ])
          .orderBy('s.creation_date')
          .orderBy('s.secret_id'),
      ).as('secrets'),
      jsonArrayFrom(
        eb
          .selectFrom('instance_members as m')
          .whereRef('m.user_id', '=', 'u.user_id')
          .select('m.role')
          .orderBy('m.role'),
      ).as('instance_roles'),
      jsonArrayFrom(
        eb
          .selectFrom('user_project_roles as r')
          .whereRef('r.user_id', '=', 'u.user_id')
          .select(['r.project_id', 'r.role'])
          .orderBy('r.project_id')
          .orderBy('r.role'),
      ).as('project_roles'),
      jsonArrayFrom(
        eb.selectFrom('user_scopes as c').whereRef('c.user_id', '=', 'u.user_id').select('c.scope').orderBy('c.scope'),
      ).as('scopes'),
    ])
    .execute()
}

function toServiceUser(row: ServiceUserRow): ServiceUser {
  return {
    userId: row.user_id,
    name: row.name,
    projectId: row.project_id,
    projectName: row.project_name,
    enabled: row.enabled,
    clientCredentialsEnabled: row.client_credentials_enabled,
    secrets: row.secrets.map(toClientSecret),
    instanceRoles: row.instance_roles.map(({ role }) => parseInstanceRole(role)),
    projectRoles: groupByProject(row.project_roles),
    customScopes: row.scopes.map(({ scope }) => scope),
  }
}

function toClientSecret(row: ServiceUserRow['secrets'][number]): ClientSecret {
  return {
    secretId: row.secret_id,
    hash: new Uint8Array(Buffer.from(row.hash, 'hex')),
    expiresAt: row.expiration_date === null ? null : new Date(row.expiration_date),
    deactivatedAt: row.deactivation_date === null ? null : new Date(row.deactivation_date),
  }
}

function groupByProject(rows: ServiceUserRow['project_roles']): ReadonlyMap<string, readonly string[]> {
  const roles = new Map<string, string[]>()
  for (const { project_id, role } of rows) {
    const ofProject = roles.get(project_id)
    if (ofProject === undefined) roles.set(project_id, [role])
    else ofProject.push(role)
  }
  return roles
}
