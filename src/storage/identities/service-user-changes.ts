/**
 * Writes the differences between service users before and after a change, of all of them in a few statements. Their credentials are in
 * `credential-rows.ts`.
 */
import { sql, type Transaction } from 'kysely'
import { DomainError } from '../../domain/errors.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { roleNotFound } from '../../domain/identities/project.ts'
import { type ServiceUser, settingsOf } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { MAX_CLOCK_OFFSET_SECONDS } from '../../domain/time.ts'
import { deleteSignInsOf } from '../console/sign-in-rows.ts'
import { CLOCK } from '../schema/clock.ts'
import { type BeforeAndNext, inChunks, type Parts, writeParts } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'
import { writeCredentials } from './credential-rows.ts'

/** How many rows of expired tokens are deleted with each revocation: more than it adds. */
const CLEANUP_BATCH = 100

/** A service user before and after a change. Undefined: it is created; null: it is deleted. */
export type ServiceUserChange = readonly [before: ServiceUser | undefined, next: ServiceUser | null]

const MANAGED_PROJECTS: Parts<ServiceUser> = {
  table: 'project_members',
  columns: { user_id: 'uuid', project_id: 'uuid', role: 'text' },
  rowsOf: ({ userId, managedProjects }) => [...managedProjects].map(([projectId, role]) => [userId, projectId, role]),
}

const PROJECT_ROLES: Parts<ServiceUser> = {
  table: 'user_project_roles',
  columns: { user_id: 'uuid', project_id: 'uuid', role: 'text' },
  rowsOf: ({ userId, projectRoles }) =>
    [...projectRoles].flatMap(([projectId, roles]) => roles.map((role) => [userId, projectId, role])),
}

const SCOPES: Parts<ServiceUser> = {
  table: 'user_scopes',
  columns: { user_id: 'uuid', project_id: 'uuid', scope: 'text' },
  rowsOf: ({ userId, projectId, customScopes }) => customScopes.map((scope) => [userId, projectId, scope]),
}

const REVOKED_TOKENS: Parts<ServiceUser> = {
  table: 'revoked_tokens',
  columns: { user_id: 'uuid', token_id: 'text', expiration_date: 'timestamptz' },
  rowsOf: ({ userId, revokedTokens }) =>
    revokedTokens.map(({ tokenId, expiresAt }) => [userId, tokenId, expiresAt.toISOString()]),
}

/** Writes the differences, and returns whether there are any. */
export async function writeServiceUsers(
  trx: Transaction<Tables>,
  changes: readonly ServiceUserChange[],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const pairs = changes.filter((change): change is BeforeAndNext<ServiceUser> => change[1] !== null)
  for (const [, next] of pairs) assertPossibleIds(next)
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
    await writeParts(trx, pairs, MANAGED_PROJECTS),
    await writeParts(trx, pairs, PROJECT_ROLES),
    await writeParts(trx, pairs, SCOPES),
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

/** @throws {DomainError} for ids that no project can have, and that PostgreSQL cannot read. */
function assertPossibleIds({ projectId, managedProjects, projectRoles }: ServiceUser): void {
  if (![projectId, ...managedProjects.keys()].every(isUuid)) {
    throw new DomainError('project_not_found', 'there is no such project')
  }
  if (![...projectRoles.keys()].every(isUuid)) throw roleNotFound()
}

async function deleteUsers(trx: Transaction<Tables>, userIds: readonly string[]): Promise<boolean> {
  if (userIds.length === 0) return false
  await trx.deleteFrom('service_users').where(sql<boolean>`user_id = any(${userIds}::uuid[])`).execute()
  return true
}

async function insertUsers(trx: Transaction<Tables>, users: readonly ServiceUser[]): Promise<boolean> {
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
      set name = n.name, enabled = n.enabled, instance_roles = n.instance_roles, settings = n.settings::json,
        token_revocation_date = n.token_revocation_date
      from jsonb_to_recordset(${JSON.stringify(some)}::jsonb) as n (
        user_id uuid, name text, enabled boolean, instance_roles text[], settings text, token_revocation_date timestamptz)
      where u.user_id = n.user_id`.execute(trx)
  }
  return rows.length > 0
}

function columnsThatChange(user: ServiceUser) {
  return {
    name: user.name,
    enabled: user.enabled,
    instance_roles: [...user.instanceRoles],
    settings: JSON.stringify(settingsOf(user)),
    token_revocation_date: user.tokensRevokedAt,
  }
}

async function writeRevokedTokens(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
): Promise<boolean> {
  if (!(await writeParts(trx, pairs, REVOKED_TOKENS))) return false
  // Of all users: a user whose tokens are not revoked any more has no other change in which its rows could end.
  const limit = sql`${CLOCK} - make_interval(secs => ${sql.lit(MAX_CLOCK_OFFSET_SECONDS)})`
  await sql`
    delete from revoked_tokens where (user_id, token_id) in (
      select user_id, token_id from revoked_tokens where expiration_date < ${limit} order by expiration_date limit ${CLEANUP_BATCH}
    )`.execute(trx)
  return true
}
