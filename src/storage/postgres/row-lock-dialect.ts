/**
 * Kysely's PostgreSQL dialect without its migration lock. That is an advisory lock, which distributed databases that speak
 * PostgreSQL do not have; `migrate.ts` locks a row instead.
 */
import { PostgresAdapter, PostgresDialect } from 'kysely'

/** A `PostgresDialect` for a `Migrator` whose caller holds the row lock of the migrations. */
export class RowLockPostgresDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new RowLockPostgresAdapter()
  }
}

class RowLockPostgresAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}

  override async releaseMigrationLock(): Promise<void> {}
}
