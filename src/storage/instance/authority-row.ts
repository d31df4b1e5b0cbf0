/**
 * What the right of a caller rests on, as rows: read by one statement, in the transaction of the change that it is for.
 */
import { sql, type Transaction } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { AuthorityFacts, UserAuthority } from '../../domain/identities/authority.ts'
import { parseInstanceRole } from '../../domain/identities/permission.ts'
import type { Tables } from '../schema/tables.ts'

/** Reads what `assertAuthorized` needs to know about this authority. Nothing else of the user is read. */
export async function readAuthorityFacts(
  trx: Transaction<Tables>,
  { userId, credential }: UserAuthority,
): Promise<Omit<AuthorityFacts, 'now'>> {
  const keyId = credential.kind === 'access_token' ? credential.keyId : null
  const tokenId = credential.kind === 'personal_access_token' ? credential.tokenId : null
  const row = await trx
    .selectFrom('service_users as u')
    .where('u.user_id', '=', userId)
    .select((eb) => [
      'u.enabled',
      jsonArrayFrom(eb.selectFrom('instance_members as m').whereRef('m.user_id', '=', 'u.user_id').select('m.role')).as(
        'roles',
      ),
      jsonArrayFrom(
        eb
          .selectFrom('personal_access_tokens as t')
          .whereRef('t.user_id', '=', 'u.user_id')
          .where(sql<boolean>`t.token_id = ${tokenId}::uuid`)
          .select(['t.token_id', 't.expiration_date']),
      ).as('tokens'),
      jsonArrayFrom(
        eb.selectFrom('web_keys as k').where(sql<boolean>`k.key_id = ${keyId}::text`).select('k.key_id'),
      ).as('keys'),
    ])
    .executeTakeFirst()
  if (row === undefined) return { user: undefined, ring: [] }
  const personalAccessTokens = row.tokens.map(({ token_id, expiration_date }) => {
    // Dates in JSON are text.
    return { tokenId: token_id, expiresAt: new Date(expiration_date) }
  })
  const instanceRoles = row.roles.map(({ role }) => parseInstanceRole(role))
  return {
    user: { enabled: row.enabled, instanceRoles, personalAccessTokens },
    ring: row.keys.map(({ key_id }) => ({ keyId: key_id })),
  }
}
