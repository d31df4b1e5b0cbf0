/** Writes the differences between service users before and after a change, of all of them in a few statements. */
import { sql, type Transaction } from 'kysely'
import { DomainError } from '../../domain/errors.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { roleNotFound } from '../../domain/identities/project.ts'
import { type ServiceUser, settingsOf } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { MAX_CLOCK_OFFSET_SECONDS } from '../../domain/time.ts'
import { deleteSignInsOf } from '../console/sign-in-rows.ts'
import { CLOCK } from '../schema/clock.ts'
import type { Tables } from '../schema/tables.ts'
import { pairsOf, type RowsOf, writeRows } from '../schema/write-rows.ts'
import { toCredentialRow } from './credential-rows.ts'

/** How many rows of expired tokens are deleted with each revocation: more than it adds. */
const CLEANUP_BATCH = 100

/** A service user before and after a change. Undefined: it is created; null: it is deleted. */
export type ServiceUserChange = readonly [before: ServiceUser | undefined, next: ServiceUser | null]

const ROWS: readonly RowsOf<ServiceUser>[] = [
  {
    table: 'service_users',
    key: ['user_id'],
    rows: (user) => [
      {
        user_id: user.userId,
        project_id: user.projectId,
        name: user.name,
        enabled: user.enabled,
        creation_date: user.createdAt,
        instance_roles: user.instanceRoles,
        settings: settingsOf(user),
        token_revocation_date: user.tokensRevokedAt,
      },
    ],
  },
  {
    table: 'project_members',
    key: ['user_id', 'project_id'],
    rows: ({ userId, managedProjects }) =>
      [...managedProjects].map(([projectId, role]) => ({ user_id: userId, project_id: projectId, role })),
  },
  {
    table: 'user_project_roles',
    key: ['user_id', 'project_id', 'role'],
    rows: ({ userId, projectRoles }) =>
      [...projectRoles].flatMap(([projectId, roles]) =>
        roles.map((role) => ({ user_id: userId, project_id: projectId, role })),
      ),
  },
  {
    table: 'user_scopes',
    key: ['user_id', 'project_id', 'scope'],
    rows: ({ userId, projectId, customScopes }) =>
      customScopes.map((scope) => ({ user_id: userId, project_id: projectId, scope })),
  },
]

const REVOKED_TOKENS: RowsOf<ServiceUser> = {
  table: 'revoked_tokens',
  key: ['user_id', 'token_id'],
  rows: ({ userId, revokedTokens }) =>
    revokedTokens.map(({ tokenId, expiresAt }) => ({ user_id: userId, token_id: tokenId, expiration_date: expiresAt })),
}

/** Writes the differences, and returns whether there are any. */
export async function writeServiceUsers(
  trx: Transaction<Tables>,
  changes: readonly ServiceUserChange[],
  macs: PublicKeyMacs,
): Promise<boolean> {
  for (const [, next] of changes) if (next !== null) assertPossibleIds(next)
  const credentials: RowsOf<ServiceUser> = {
    table: 'credentials',
    key: ['credential_id'],
    rows: (user) => user.credentials.map((credential) => toCredentialRow(user.userId, credential, macs)),
  }
  const pairs = pairsOf(changes)
  // What else a deleted user has goes with it.
  const left = pairsOf(changes.filter(([, next]) => next !== null))
  const written: boolean[] = []
  for (const rows of [...ROWS, credentials])
    written.push(await writeRows(trx, rows, rows.table === 'service_users' ? pairs : left))
  if (await writeRows(trx, REVOKED_TOKENS, left)) {
    written.push(true)
    await deleteExpiredTokens(trx)
  }
  const ended = changes.flatMap(([before, next]) => (next !== null && endsSessions(before, next) ? [next.userId] : []))
  if (ended.length > 0) await deleteSignInsOf(trx, ended)
  return written.includes(true)
}

/** Enabling the user again must not bring them back. */
function endsSessions(before: ServiceUser | undefined, next: ServiceUser): boolean {
  return !next.enabled || before?.tokensRevokedAt?.getTime() !== next.tokensRevokedAt?.getTime()
}

/** @throws {DomainError} for ids that no project can have, and that PostgreSQL cannot read. */
function assertPossibleIds({ projectId, managedProjects, projectRoles }: ServiceUser): void {
  if (![projectId, ...managedProjects.keys()].every(isUuid)) {
    throw new DomainError('project_not_found', 'there is no such project')
  }
  if (![...projectRoles.keys()].every(isUuid)) throw roleNotFound()
}

/** Of all users: a user whose tokens are not revoked any more has no other change in which its rows could end. */
async function deleteExpiredTokens(trx: Transaction<Tables>): Promise<void> {
  const limit = sql`${CLOCK} - make_interval(secs => ${sql.lit(MAX_CLOCK_OFFSET_SECONDS)})`
  await sql`
    delete from revoked_tokens where (user_id, token_id) in (
      select user_id, token_id from revoked_tokens where expiration_date < ${limit} order by expiration_date limit ${CLEANUP_BATCH}
    )`.execute(trx)
}
