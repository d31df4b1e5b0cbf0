/**
 * Kysely's PostgreSQL dialect with a migration lock that is a row, not an advisory lock, which distributed engines
 * that speak PostgreSQL do not have.
 */
import { type Kysely, type MigrationLockOptions, PostgresAdapter, PostgresDialect } from 'kysely'

/** A `PostgresDialect` whose migrations must be run inside a transaction: the lock ends with it. */
export class RowLockPostgresDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new RowLockPostgresAdapter()
  }
}

class RowLockPostgresAdapter extends PostgresAdapter {
  override async acquireMigrationLock(db: Kysely<unknown>, options: MigrationLockOptions): Promise<void> {
    // Kysely's own default hands over a mere connection, on which a row lock would end with this statement.
    if (!db.isTransaction) throw new Error('migrations must be run inside a transaction')
    await (db as Kysely<Record<string, { id: string }>>)
      .selectFrom(options.lockTable)
      .select('id')
      .where('id', '=', options.lockRowId)
      .forUpdate()
      .execute()
  }

  override async releaseMigrationLock(): Promise<void> {
    // The end of the transaction releases the row.
  }
}
