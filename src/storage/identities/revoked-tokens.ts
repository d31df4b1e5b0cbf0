/**
 * Writes the revocations of single access tokens. A row ends after its token has expired by the clock of every replica.
 */
import { sql, type Transaction } from 'kysely'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import { MAX_CLOCK_OFFSET_SECONDS } from '../../domain/time.ts'
import { inChunks } from '../schema/chunks.ts'
import { CLOCK } from '../schema/clock.ts'
import { type BeforeAndNext, differenceOfParts } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'

/** How many rows of expired tokens are deleted with each revocation: more than it adds. */
const CLEANUP_BATCH = 100

/** Writes the differences between users before and after a change, and returns whether there are any. */
export async function writeRevokedTokens(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
): Promise<boolean> {
  const rowsOf = ({ userId, revokedTokens }: ServiceUser) =>
    revokedTokens.map(({ tokenId, expiresAt }) => ({ user_id: userId, token_id: tokenId, expiration_date: expiresAt }))
  const { removed, added } = differenceOfParts(pairs, rowsOf, ({ user_id, token_id }) =>
    JSON.stringify([user_id, token_id]),
  )
  if (removed.length > 0) {
    const [userIds, tokenIds] = [removed.map(({ user_id }) => user_id), removed.map(({ token_id }) => token_id)]
    const anyRemoved = sql<boolean>`
      (user_id, token_id) in (select * from unnest(${userIds}::uuid[], ${tokenIds}::text[]))`
    await trx.deleteFrom('revoked_tokens').where(anyRemoved).execute()
  }
  for (const rows of inChunks(added)) await trx.insertInto('revoked_tokens').values(rows).execute()
  if (added.length > 0) await deleteExpired(trx)
  return removed.length + added.length > 0
}

/** Of all users: a user whose tokens are not revoked any more has no other change in which its rows could end. */
async function deleteExpired(trx: Transaction<Tables>): Promise<void> {
  const limit = sql`${CLOCK} - make_interval(secs => ${sql.lit(MAX_CLOCK_OFFSET_SECONDS)})`
  await sql`
    delete from revoked_tokens where (user_id, token_id) in (
      select user_id, token_id from revoked_tokens where expiration_date < ${limit} order by expiration_date limit ${CLEANUP_BATCH}
    )`.execute(trx)
}
