/**
 * Writes the difference between a service user before and after a change. Its credentials are in `credential-changes.ts`.
 */
import { sql, type Transaction } from 'kysely'
import { DomainError } from '../../domain/errors.ts'
import type { InstanceRole } from '../../domain/identities/permission.ts'
import { roleNotFound } from '../../domain/identities/project.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { isUuid } from '../../domain/uuid.ts'
import { deleteSignInsOf } from '../console/sign-in-rows.ts'
import type { Tables } from '../schema/tables.ts'
import { writeCredentials } from './credential-changes.ts'
import { difference } from './difference.ts'
import { writeRevokedTokens } from './revoked-tokens.ts'

/** Writes the difference, and returns whether there is one. */
export async function writeServiceUser(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: ServiceUser | undefined, next: ServiceUser | null],
  macs: PublicKeyMacs,
): Promise<boolean> {
  if (next === null) return before !== undefined && (await deleteUser(trx, before))
  const changes = [
    before === undefined ? await insertUser(trx, next) : await updateUser(trx, before, next),
    await writeInstanceRoles(trx, before, next),
    await writeManagedProjects(trx, before, next),
    await writeProjectRoles(trx, before, next),
    await writeScopes(trx, before, next),
    await writeCredentials(trx, [before, next], macs),
    await writeRevokedTokens(trx, before, next),
  ]
  if (endsSessions(before, next)) await deleteSignInsOf(trx, next.userId)
  return changes.includes(true)
}

/** Enabling the user again must not bring them back. */
function endsSessions(before: ServiceUser | undefined, next: ServiceUser): boolean {
  return !next.enabled || before?.tokensRevokedAt?.getTime() !== next.tokensRevokedAt?.getTime()
}

async function deleteUser(trx: Transaction<Tables>, { userId }: ServiceUser): Promise<true> {
  await trx.deleteFrom('service_users').where('user_id', '=', userId).execute()
  return true
}

async function insertUser(trx: Transaction<Tables>, user: ServiceUser): Promise<true> {
  if (!isUuid(user.projectId)) throw new DomainError('project_not_found', 'there is no such project')
  await trx
    .insertInto('service_users')
    .values({
      user_id: user.userId,
      project_id: user.projectId,
      creation_date: user.createdAt,
      ...columnsThatChange(user),
    })
    .execute()
  return true
}

async function updateUser(trx: Transaction<Tables>, before: ServiceUser, next: ServiceUser): Promise<boolean> {
  if (next.projectId !== before.projectId) throw new Error('a service user stays in its project')
  const columns = columnsThatChange(next)
  if (JSON.stringify(columns) === JSON.stringify(columnsThatChange(before))) return false
  await trx.updateTable('service_users').set(columns).where('user_id', '=', before.userId).execute()
  return true
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
  before: ServiceUser | undefined,
  next: ServiceUser,
): Promise<boolean> {
  const { removed, added } = difference(before?.instanceRoles ?? [], next.instanceRoles, (role) => role)
  const { userId } = next
  for (const role of removed) {
    await trx.deleteFrom(tableOf(role)).where('user_id', '=', userId).where('role', '=', role).execute()
  }
  for (const role of added) await trx.insertInto(tableOf(role)).values({ user_id: userId, role }).execute()
  return removed.length + added.length > 0
}

/** The first two have a table of their own: programs from before the others refuse a user with another role in it. */
function tableOf(role: InstanceRole): 'instance_members' | 'limited_instance_members' {
  return role === 'IAM_OWNER' || role === 'IAM_OWNER_VIEWER' ? 'instance_members' : 'limited_instance_members'
}

async function writeManagedProjects(
  trx: Transaction<Tables>,
  before: ServiceUser | undefined,
  next: ServiceUser,
): Promise<boolean> {
  const { userId } = next
  const { removed, added } = difference([...(before?.managedProjects ?? [])], [...next.managedProjects], String)
  for (const [projectId] of removed) {
    await trx.deleteFrom('project_members').where('user_id', '=', userId).where('project_id', '=', projectId).execute()
  }
  for (const [projectId, role] of added) {
    if (!isUuid(projectId)) throw new DomainError('project_not_found', 'there is no such project')
    await trx.insertInto('project_members').values({ user_id: userId, project_id: projectId, role }).execute()
  }
  return removed.length + added.length > 0
}

async function writeProjectRoles(
  trx: Transaction<Tables>,
  before: ServiceUser | undefined,
  next: ServiceUser,
): Promise<boolean> {
  const { userId } = next
  const { removed, added } = difference(grantsOf(before), grantsOf(next), (grant) => JSON.stringify(grant))
  if (removed.length > 0) {
    const projectIds = removed.map(({ project_id }) => project_id)
    const roles = removed.map(({ role }) => role)
    const anyRemoved = sql<boolean>`
      (project_id, role) in (select * from unnest(${projectIds}::uuid[], ${roles}::text[]))`
    await trx.deleteFrom('user_project_roles').where('user_id', '=', userId).where(anyRemoved).execute()
  }
  if (added.length > 0) {
    if (!added.every(({ project_id }) => isUuid(project_id))) {
      throw roleNotFound()
    }
    const rows = added.map((grant) => ({ user_id: userId, ...grant }))
    await trx.insertInto('user_project_roles').values(rows).execute()
  }
  return removed.length + added.length > 0
}

function grantsOf(user: ServiceUser | undefined): readonly { readonly project_id: string; readonly role: string }[] {
  return [...(user?.projectRoles ?? [])].flatMap(([project_id, roles]) => roles.map((role) => ({ project_id, role })))
}

async function writeScopes(
  trx: Transaction<Tables>,
  before: ServiceUser | undefined,
  next: ServiceUser,
): Promise<boolean> {
  const { removed, added } = difference(before?.customScopes ?? [], next.customScopes, (scope) => scope)
  const { userId, projectId } = next
  if (removed.length > 0) {
    const anyRemoved = sql<boolean>`scope = any(${removed}::text[])`
    await trx.deleteFrom('user_scopes').where('user_id', '=', userId).where(anyRemoved).execute()
  }
  if (added.length > 0) {
    const rows = added.map((scope) => ({ user_id: userId, project_id: projectId, scope }))
    await trx.insertInto('user_scopes').values(rows).execute()
  }
  return removed.length + added.length > 0
}
