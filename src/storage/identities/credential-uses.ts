/**
 * The `CredentialUses` on a database. Outside the lock and without a new version: they come with tokens, not with
 * administration.
 */
import { sql } from 'kysely'
import type { CredentialUses } from '../../domain/ports.ts'
import { isUuid } from '../../domain/uuid.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageRepeatedly } from '../postgres/storage-errors.ts'

/** How long marks of assertions are kept beyond their end: the clocks of replicas and database may differ. */
const CLOCK_TOLERANCE_SECONDS = 300

/** Every so many uses, so many marks that are not needed any more are deleted: more than have been added meanwhile. */
const CLEANUP_INTERVAL = 100
const CLEANUP_BATCH = 1000

/** The uses of credentials in a migrated database. */
export function createCredentialUses({ db }: Database): CredentialUses {
  const forgettable = sql<Date>`clock_timestamp() - make_interval(secs => ${sql.lit(CLOCK_TOLERANCE_SECONDS)})`
  let uses = 0

  const forgetExpired = async (): Promise<void> => {
    const expired = db
      .selectFrom('used_assertions')
      .select('id')
      .where('expiration_date', '<', forgettable)
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
      await usingStorageRepeatedly(async () => {
        await sql`
          update client_secrets as s set last_use_date = u.use_date
          from unnest(${secretIds}::uuid[], ${dates}::timestamptz[]) as u (secret_id, use_date)
          where s.secret_id = u.secret_id and (s.last_use_date is null or s.last_use_date < u.use_date)`.execute(db)
      })
    },

    useAssertionOnce: async (id, expiresAt) => {
      uses += 1
      // Before the use, not after: if it fails, the client can try again.
      if (uses % CLEANUP_INTERVAL === 0) await usingStorageRepeatedly(forgetExpired)
      return await usingStorageRepeatedly(async () => {
        const marked = await db
          .insertInto('used_assertions')
          .values({ id, expiration_date: expiresAt })
          .onConflict((conflict) =>
            conflict
              .column('id')
              .doUpdateSet({ expiration_date: expiresAt })
              .where('used_assertions.expiration_date', '<', forgettable),
          )
          .returning('id')
          .executeTakeFirst()
        return marked !== undefined
      })
    },
  }
}
