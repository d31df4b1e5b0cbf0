/**
 * Writes the revocations of single access tokens. A row ends with its token.
 */
import { sql, type Transaction } from 'kysely'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import { CLOCK } from '../instance/instance-row.ts'
import type { Tables } from '../schema/tables.ts'
import { difference } from './difference.ts'

/** How many rows of expired tokens are deleted with each revocation: more than it adds. */
const CLEANUP_BATCH = 100

/** Writes the difference between a user before and after a change, and returns whether there is one. */
export async function writeRevokedTokens(
  trx: Transaction<Tables>,
  before: ServiceUser | undefined,
  { userId, revokedTokens }: ServiceUser,
): Promise<boolean> {
  const { removed, added } = difference(before?.revokedTokens ?? [], revokedTokens, ({ tokenId }) => tokenId)
  if (removed.length > 0) {
    const anyRemoved = sql<boolean>`token_id = any(${removed.map(({ tokenId }) => tokenId)}::text[])`
    await trx.deleteFrom('revoked_tokens').where('user_id', '=', userId).where(anyRemoved).execute()
  }
  if (added.length > 0) {
    const rows = added.map(({ tokenId, expiresAt }) => ({
      user_id: userId,
      token_id: tokenId,
      expiration_date: expiresAt,
    }))
    await trx.insertInto('revoked_tokens').values(rows).execute()
    await deleteExpired(trx)
  }
  return removed.length + added.length > 0
}

/** Of all users: a user whose tokens are not revoked any more has no other change in which its rows could end. */
async function deleteExpired(trx: Transaction<Tables>): Promise<void> {
  await sql`
    delete from revoked_tokens where (user_id, token_id) in (
      select user_id, token_id from revoked_tokens where expiration_date < ${CLOCK} order by expiration_date limit ${CLEANUP_BATCH}
    )`.execute(trx)
}
