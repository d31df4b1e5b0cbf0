/** The rows that the right of a caller depends on, for `assertAuthorized`; whole users have the roles over projects from here too. */
import { type ExpressionBuilder, sql, type Transaction } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { AuthorityFacts, UserAuthority } from '../../domain/identities/authority.ts'
import { parseInstanceRole, parseProjectMemberRole } from '../../domain/identities/permission.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { Tables } from '../schema/tables.ts'

export async function readAuthority(
  trx: Transaction<Tables>,
  { userId, credential }: UserAuthority,
): Promise<Omit<AuthorityFacts, 'now'>> {
  const sessionId = credential.kind === 'console_session' ? credential.sessionId : null
  const proof = credential.kind === 'console_session' ? credential.origin : credential
  const keyId = proof.kind === 'access_token' ? proof.keyId : null
  const tokenId = proof.kind === 'personal_access_token' ? proof.tokenId : null
  const accessTokenId = proof.kind === 'access_token' ? proof.tokenId : null
  const row = await trx
    .selectFrom('service_users as u')
    .where('u.user_id', '=', userId)
    .select((eb) => [
      'u.enabled',
      'u.token_revocation_date',
      'u.instance_roles',
      jsonArrayFrom(managedProjectsOf(eb)).as('managed_projects'),
      jsonArrayFrom(
        eb
          .selectFrom('credentials as t')
          .whereRef('t.user_id', '=', 'u.user_id')
          .where('t.kind', '=', 'personal_access_token')
          .where(sql<boolean>`t.credential_id = ${tokenId}::uuid`)
          .select(['t.credential_id', 't.expiration_date']),
      ).as('tokens'),
      jsonArrayFrom(
        eb
          .selectFrom('revoked_tokens as v')
          .whereRef('v.user_id', '=', 'u.user_id')
          .where(sql<boolean>`v.token_id = ${accessTokenId}::text`)
          .select('v.token_id'),
      ).as('revoked_tokens'),
      jsonArrayFrom(
        eb
          .selectFrom('console_sessions as c')
          .whereRef('c.user_id', '=', 'u.user_id')
          .where(sql<boolean>`c.session_id = ${sessionId}::uuid`)
          .select(['c.expiration_date', 'c.last_use_date']),
      ).as('sessions'),
      jsonArrayFrom(
        eb.selectFrom('web_keys as k').where(sql<boolean>`k.key_id = ${keyId}::text`).select('k.key_id'),
      ).as('keys'),
    ])
    .executeTakeFirst()
  if (row === undefined) return { user: undefined, ring: [] }
  const credentials = row.tokens.map(({ credential_id: credentialId, expiration_date }) => {
    // Dates in JSON are text.
    const expiresAt = expiration_date === null ? null : new Date(expiration_date)
    return { kind: 'personal_access_token' as const, credentialId, expiresAt }
  })
  return {
    user: {
      userId,
      enabled: row.enabled,
      instanceRoles: row.instance_roles.map(parseInstanceRole),
      managedProjects: toManagedProjects(row.managed_projects),
      credentials,
      tokensRevokedAt: row.token_revocation_date,
      revokedTokens: row.revoked_tokens.map(({ token_id }) => ({ tokenId: token_id })),
    },
    ring: row.keys.map(({ key_id }) => ({ keyId: key_id })),
    session: row.sessions
      .map((session) => ({ expiresAt: new Date(session.expiration_date), lastUsedAt: new Date(session.last_use_date) }))
      .at(0),
  }
}

/** One for all users without a role over a project: a replica has many. */
const NO_PROJECTS: ServiceUser['managedProjects'] = new Map()

/** An expression in a query of which `u` is a service user. */
type OfUser = ExpressionBuilder<Tables & { u: Tables['service_users'] }, 'u'>

export function managedProjectsOf(eb: OfUser) {
  return eb
    .selectFrom('project_members as o')
    .whereRef('o.user_id', '=', 'u.user_id')
    .select(['o.project_id', 'o.role'])
    .orderBy('o.project_id')
}

/** The roles over projects of a user. @throws {Error} if one is unknown. */
export function toManagedProjects(
  rows: readonly { readonly project_id: string; readonly role: string }[],
): ServiceUser['managedProjects'] {
  return rows.length === 0
    ? NO_PROJECTS
    : new Map(rows.map(({ project_id, role }) => [project_id, parseProjectMemberRole(role)]))
}
