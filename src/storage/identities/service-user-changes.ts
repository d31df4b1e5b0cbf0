/**
 * Writes the differences between service users before and after a change, of all of them in a few statements. Their credentials are in
 * `credential-rows.ts`.
 */
import { sql, type Transaction } from 'kysely'
import { DomainError } from '../../domain/errors.ts'
import { roleNotFound } from '../../domain/identities/project.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { isUuid } from '../../domain/uuid.ts'
import { deleteSignInsOf } from '../console/sign-in-rows.ts'
import { inChunks } from '../schema/chunks.ts'
import { type BeforeAndNext, differenceOfParts } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'
import { writeCredentials } from './credential-rows.ts'
import { writeRevokedTokens } from './revoked-tokens.ts'

/** A service user before and after a change. Undefined: it is created; null: it is deleted. */
export type ServiceUserChange = readonly [before: ServiceUser | undefined, next: ServiceUser | null]

/** Writes the differences, and returns whether there are any. */
export async function writeServiceUsers(
  trx: Transaction<Tables>,
  changes: readonly ServiceUserChange[],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const pairs = changes.filter((change): change is BeforeAndNext<ServiceUser> => change[1] !== null)
  const written = [
    await deleteUsers(
      trx,
      changes.flatMap(([before, next]) => (before === undefined || next !== null ? [] : [before.userId])),
    ),
    await insertUsers(
      trx,
      pairs.flatMap(([before, next]) => (before === undefined ? [next] : [])),
    ),
    await updateUsers(trx, pairs),
    await writeInstanceRoles(trx, pairs),
    await writeManagedProjects(trx, pairs),
    await writeProjectRoles(trx, pairs),
    await writeScopes(trx, pairs),
    await writeCredentials(trx, pairs, macs),
    await writeRevokedTokens(trx, pairs),
  ]
  const ended = pairs.filter(endsSessions).map(([, { userId }]) => userId)
  if (ended.length > 0) await deleteSignInsOf(trx, ended)
  return written.includes(true)
}

/** Enabling the user again must not bring them back. */
function endsSessions([before, next]: BeforeAndNext<ServiceUser>): boolean {
  return !next.enabled || before?.tokensRevokedAt?.getTime() !== next.tokensRevokedAt?.getTime()
}

async function deleteUsers(trx: Transaction<Tables>, userIds: readonly string[]): Promise<boolean> {
  if (userIds.length === 0) return false
  await trx.deleteFrom('service_users').where(sql<boolean>`user_id = any(${userIds}::uuid[])`).execute()
  return true
}

async function insertUsers(trx: Transaction<Tables>, users: readonly ServiceUser[]): Promise<boolean> {
  if (!users.every(({ projectId }) => isUuid(projectId))) {
    throw new DomainError('project_not_found', 'there is no such project')
  }
  for (const some of inChunks(users)) {
    const rows = some.map((user) => ({
      user_id: user.userId,
      project_id: user.projectId,
      creation_date: user.createdAt,
      ...columnsThatChange(user),
    }))
    await trx.insertInto('service_users').values(rows).execute()
  }
  return users.length > 0
}

async function updateUsers(trx: Transaction<Tables>, pairs: readonly BeforeAndNext<ServiceUser>[]): Promise<boolean> {
  const rows = pairs.flatMap(([before, next]) => {
    if (before === undefined) return []
    if (next.projectId !== before.projectId) throw new Error('a service user stays in its project')
    const columns = columnsThatChange(next)
    const isSame = JSON.stringify(columns) === JSON.stringify(columnsThatChange(before))
    return isSame ? [] : [{ user_id: next.userId, ...columns }]
  })
  for (const some of inChunks(rows)) {
    await sql`
      update service_users as u
      set name = n.name, enabled = n.enabled, client_credentials_enabled = n.client_credentials_enabled,
        token_lifetime = n.token_lifetime, token_claims = n.token_claims::json, token_revocation_date = n.token_revocation_date,
        bound_tokens_required = n.bound_tokens_required, certificate_bound_tokens = n.certificate_bound_tokens
      from jsonb_to_recordset(${JSON.stringify(some)}::jsonb) as n (
        user_id uuid, name text, enabled boolean, client_credentials_enabled boolean, token_lifetime int, token_claims text,
        token_revocation_date timestamptz, bound_tokens_required boolean, certificate_bound_tokens boolean)
      where u.user_id = n.user_id`.execute(trx)
  }
  return rows.length > 0
}

function columnsThatChange(user: ServiceUser) {
  const {
    name,
    enabled,
    clientCredentialsEnabled,
    boundTokensRequired,
    certificateBoundTokens,
    tokenLifetimeSeconds,
    tokenClaims,
    tokensRevokedAt,
  } = user
  return {
    name,
    enabled,
    client_credentials_enabled: clientCredentialsEnabled,
    token_lifetime: tokenLifetimeSeconds,
    token_claims: Object.keys(tokenClaims).length === 0 ? null : JSON.stringify(tokenClaims),
    token_revocation_date: tokensRevokedAt,
    bound_tokens_required: boundTokensRequired,
    certificate_bound_tokens: certificateBoundTokens,
  }
}

async function writeInstanceRoles(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
): Promise<boolean> {
  const rowsOf = ({ userId, instanceRoles }: ServiceUser) => instanceRoles.map((role) => ({ user_id: userId, role }))
  const { removed, added } = differenceOfParts(pairs, rowsOf, (row) => JSON.stringify(row))
  if (removed.length > 0) {
    const [userIds, roles] = [removed.map(({ user_id }) => user_id), removed.map(({ role }) => role)]
    const anyRemoved = sql<boolean>`(user_id, role) in (select * from unnest(${userIds}::uuid[], ${roles}::text[]))`
    await trx.deleteFrom('instance_members').where(anyRemoved).execute()
  }
  for (const rows of inChunks(added)) await trx.insertInto('instance_members').values(rows).execute()
  return removed.length + added.length > 0
}

async function writeManagedProjects(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
): Promise<boolean> {
  const rowsOf = ({ userId, managedProjects }: ServiceUser) =>
    [...managedProjects].map(([project_id, role]) => ({ user_id: userId, project_id, role }))
  const { removed, added } = differenceOfParts(pairs, rowsOf, (row) => JSON.stringify(row))
  if (removed.length > 0) {
    const [userIds, projectIds] = [removed.map(({ user_id }) => user_id), removed.map(({ project_id }) => project_id)]
    const anyRemoved = sql<boolean>`
      (user_id, project_id) in (select * from unnest(${userIds}::uuid[], ${projectIds}::uuid[]))`
    await trx.deleteFrom('project_members').where(anyRemoved).execute()
  }
  if (!added.every(({ project_id }) => isUuid(project_id))) {
    throw new DomainError('project_not_found', 'there is no such project')
  }
  for (const rows of inChunks(added)) await trx.insertInto('project_members').values(rows).execute()
  return removed.length + added.length > 0
}

async function writeProjectRoles(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
): Promise<boolean> {
  const { removed, added } = differenceOfParts(pairs, grantsOf, (grant) => JSON.stringify(grant))
  if (removed.length > 0) {
    const userIds = removed.map(({ user_id }) => user_id)
    const projectIds = removed.map(({ project_id }) => project_id)
    const roles = removed.map(({ role }) => role)
    const anyRemoved = sql<boolean>`
      (user_id, project_id, role) in (select * from unnest(${userIds}::uuid[], ${projectIds}::uuid[], ${roles}::text[]))`
    await trx.deleteFrom('user_project_roles').where(anyRemoved).execute()
  }
  if (!added.every(({ project_id }) => isUuid(project_id))) {
    throw roleNotFound()
  }
  for (const rows of inChunks(added)) await trx.insertInto('user_project_roles').values(rows).execute()
  return removed.length + added.length > 0
}

function grantsOf({ userId, projectRoles }: ServiceUser) {
  return [...projectRoles].flatMap(([project_id, roles]) =>
    roles.map((role) => ({ user_id: userId, project_id, role })),
  )
}

async function writeScopes(trx: Transaction<Tables>, pairs: readonly BeforeAndNext<ServiceUser>[]): Promise<boolean> {
  const rowsOf = ({ userId, projectId, customScopes }: ServiceUser) =>
    customScopes.map((scope) => ({ user_id: userId, project_id: projectId, scope }))
  const { removed, added } = differenceOfParts(pairs, rowsOf, (row) => JSON.stringify(row))
  if (removed.length > 0) {
    const [userIds, scopes] = [removed.map(({ user_id }) => user_id), removed.map(({ scope }) => scope)]
    const anyRemoved = sql<boolean>`(user_id, scope) in (select * from unnest(${userIds}::uuid[], ${scopes}::text[]))`
    await trx.deleteFrom('user_scopes').where(anyRemoved).execute()
  }
  for (const rows of inChunks(added)) await trx.insertInto('user_scopes').values(rows).execute()
  return removed.length + added.length > 0
}
