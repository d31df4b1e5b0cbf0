/**
 * How much a server asks of its database.
 */
import type { TestPostgres } from '../../test/support/postgres.ts'

/** Transactions of a database while something goes on, those of the measurement included. */
export async function transactionsPerSecond(
  postgres: TestPostgres,
  databaseUrl: string,
  work: () => Promise<unknown>,
): Promise<number> {
  const count = async () => {
    const rows = await postgres.query<{ count: string }>(
      'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
      [],
      databaseUrl,
    )
    return Number(rows[0]?.count)
  }
  const before = await count()
  const startedAt = performance.now()
  await work()
  return (((await count()) - before) / (performance.now() - startedAt)) * 1000
}
