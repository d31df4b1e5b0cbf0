/**
 * The `DeprecatedCallStore` on a database: one row for each user and method, written outside of the lock and without a new version.
 */
import { sql } from 'kysely'
import { MAX_DEPRECATED_CALLS } from '../../domain/deprecated-calls.ts'
import type { DeprecatedCallStore } from '../../domain/ports/records.ts'
import { ASYNCHRONOUS_COMMIT } from '../postgres/asynchronous-commit.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'

/** The calls of deprecated methods in a migrated database. */
export function createDeprecatedCallStore({ db }: Pick<Database, 'db'>): DeprecatedCallStore {
  return {
    record: async (calls) => {
      if (calls.length === 0) return
      const ids = calls.map(({ userId }) => userId)
      const methods = calls.map(({ method }) => method)
      const counts = calls.map(({ count }) => count)
      const firstDates = calls.map(({ firstAt }) => firstAt.toISOString())
      const lastDates = calls.map(({ lastAt }) => lastAt.toISOString())
      // Users who are being deleted are waited for and left out, and rows are locked in the same order everywhere.
      const add = sql`
        insert into deprecated_calls as d (user_id, method, call_count, first_call_date, last_call_date)
        select c.user_id, c.method, c.call_count, c.first_call_date, c.last_call_date
        from unnest(${ids}::uuid[], ${methods}::text[], ${counts}::bigint[], ${firstDates}::timestamptz[], ${lastDates}::timestamptz[])
          as c (user_id, method, call_count, first_call_date, last_call_date)
        join service_users u on u.user_id = c.user_id
        order by c.user_id, c.method
        for key share of u
        on conflict (user_id, method) do update set call_count = d.call_count + excluded.call_count,
          first_call_date = least(d.first_call_date, excluded.first_call_date),
          last_call_date = greatest(d.last_call_date, excluded.last_call_date)`
      const deleteOldest = sql`
        delete from deprecated_calls where (user_id, method) in (
          select user_id, method from deprecated_calls order by last_call_date desc, user_id, method
          offset ${sql.lit(MAX_DEPRECATED_CALLS)})`
      await usingStorageWithRetries(() =>
        db.transaction().execute(async (trx) => {
          await ASYNCHRONOUS_COMMIT.execute(trx)
          await add.execute(trx)
          await deleteOldest.execute(trx)
        }),
      )
    },

    list: () =>
      usingStorageWithRetries(async () => {
        const rows = await db
          .selectFrom('deprecated_calls as d')
          .innerJoin('service_users as u', 'u.user_id', 'd.user_id')
          .select(['d.user_id', 'u.name', 'd.method', 'd.call_count', 'd.first_call_date', 'd.last_call_date'])
          .orderBy('d.last_call_date', 'desc')
          .orderBy('d.user_id')
          .orderBy('d.method')
          .limit(MAX_DEPRECATED_CALLS)
          .execute()
        return rows.map((row) => ({
          userId: row.user_id,
          userName: row.name,
          method: row.method,
          count: Number(row.call_count),
          firstAt: row.first_call_date,
          lastAt: row.last_call_date,
        }))
      }),
  }
}
