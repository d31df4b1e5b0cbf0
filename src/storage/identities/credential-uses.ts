/**
 * The `CredentialUses` on a database: last uses of secrets, and used assertions (`jti`). Written outside of the lock and without
 * a new version, because they come with token requests.
 */
import { sql } from 'kysely'
import type { CredentialUses } from '../../domain/ports.ts'
import { isUuid } from '../../domain/uuid.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'

/** How long used assertions are kept after they expire: the clocks of replicas and database may differ. */
const CLOCK_TOLERANCE_SECONDS = 300

/** After each interval of uses a batch of expired ones is deleted: more than were added in the interval. */
const CLEANUP_INTERVAL = 100
const CLEANUP_BATCH = 1000

/** The uses of credentials in a migrated database. */
export function createCredentialUses({ db }: Database): CredentialUses {
  const expiredBefore = sql<Date>`clock_timestamp() - make_interval(secs => ${sql.lit(CLOCK_TOLERANCE_SECONDS)})`
  let uses = 0

  const deleteExpired = async (): Promise<void> => {
    const expired = db
      .selectFrom('used_assertions')
      .select('id')
      .where('expiration_date', '<', expiredBefore)
      .orderBy('expiration_date')
      .limit(CLEANUP_BATCH)
    await db.deleteFrom('used_assertions').where('id', 'in', expired).execute()
  }

  return {
    recordSecretUses: async (lastUses) => {
      const known = [...lastUses].filter(([secretId]) => isUuid(secretId))
      if (known.length === 0) return
      const secretIds = known.map(([secretId]) => secretId)
      const dates = known.map(([, at]) => at.toISOString())
      await usingStorageWithRetries(async () => {
        await sql`
          update client_secrets as s set last_use_date = u.use_date
          from unnest(${secretIds}::uuid[], ${dates}::timestamptz[]) as u (secret_id, use_date)
          where s.secret_id = u.secret_id and (s.last_use_date is null or s.last_use_date < u.use_date)`.execute(db)
      })
    },

    useAssertionOnce: async (id, expiresAt) => {
      uses += 1
      // Before the use, so that the client can try again if it fails.
      if (uses % CLEANUP_INTERVAL === 0) await usingStorageWithRetries(deleteExpired)
      return await usingStorageWithRetries(async () => {
        const inserted = await db
          .insertInto('used_assertions')
          .values({ id, expiration_date: expiresAt })
          .onConflict((conflict) =>
            conflict
              .column('id')
              .doUpdateSet({ expiration_date: expiresAt })
              .where('used_assertions.expiration_date', '<', expiredBefore),
          )
          .returning('id')
          .executeTakeFirst()
        return inserted !== undefined
      })
    },
  }
}
