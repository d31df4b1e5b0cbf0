/**
 * Brings a database to the schema of this version of Keyturn. Safe to run by several replicas at once.
 *
 * The list is written out instead of read from a folder, so that it is checked with the program and cannot be changed
 * by a file that lies around.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  MIGRATION_LOCK_ID,
  type Migration,
  Migrator,
} from 'kysely/migration'
import type { Database } from './database.ts'
import { initialSchema } from './migrations/0001-initial-schema.ts'
import { identities } from './migrations/0002-identities.ts'
import { usingStorageRepeatedly } from './storage-errors.ts'
import type { Tables } from './tables.ts'

const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial-schema': initialSchema,
  '0002-identities': identities,
}

/** Duplicate table, duplicate type, unique violation: how `if not exists` fails when another session was faster. */
const CREATED_BY_ANOTHER = ['42P07', '42710', '23505']

/**
 * Runs the migrations that the database does not have yet, all in one transaction, and returns their names.
 *
 * Together they must take less time than one statement may, because other replicas wait for them in one statement.
 *
 * @throws {DomainError} `storage_unavailable`.
 * @throws {Error} if the database was migrated by a newer version, or a migration fails; nothing has changed then.
 */
export async function migrate({ db }: Database): Promise<readonly string[]> {
  return await usingStorageRepeatedly(async () => {
    // Outside the transaction: losing the race to create a table would abort it.
    await createBookkeeping(db)
    return await db.transaction().setIsolationLevel('read committed').execute(migrateUnderLock)
  })
}

async function migrateUnderLock(trx: Transaction<Tables>): Promise<readonly string[]> {
  await refuseNewerDatabase(trx)
  // Given a transaction, Kysely takes its lock inside it and runs everything in it.
  const migrator = new Migrator({ db: trx, provider: { getMigrations: async () => MIGRATIONS } })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error === undefined) return results.map(({ migrationName }) => migrationName)

  const failed = results.find(({ status }) => status === 'Error')
  if (failed === undefined) throw error
  throw new MigrationFailure(failed.migrationName, error)
}

/** Names the migration, and keeps the code of the database's error so that it can be told from a lost connection. */
class MigrationFailure extends Error {
  override readonly name = 'MigrationFailure'
  readonly code: unknown

  constructor(migrationName: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`migration ${migrationName} failed: ${reason}`, { cause })
    this.code = codeOf(cause)
  }
}

async function refuseNewerDatabase(trx: Transaction<Tables>): Promise<void> {
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(trx)
  const unknown = rows.map(({ name }) => name).filter((name) => !Object.hasOwn(MIGRATIONS, name))
  if (unknown.length > 0) {
    throw new Error(`the database was migrated by a newer version of Keyturn: it has ${unknown.sort().join(', ')}`)
  }
}

/** The tables that Kysely's `Migrator` would make, with the columns that it expects. */
async function createBookkeeping(db: Kysely<Tables>): Promise<void> {
  const statements = [
    sql`
      create table if not exists ${sql.table(DEFAULT_MIGRATION_TABLE)}
        (name varchar(255) primary key, timestamp varchar(255) not null)`,
    sql`
      create table if not exists ${sql.table(DEFAULT_MIGRATION_LOCK_TABLE)}
        (id varchar(255) primary key, is_locked integer not null default 0)`,
    sql`
      insert into ${sql.table(DEFAULT_MIGRATION_LOCK_TABLE)} (id) values (${MIGRATION_LOCK_ID})
        on conflict do nothing`,
  ]
  for (const statement of statements) {
    try {
      await statement.execute(db)
    } catch (error) {
      // PostgreSQL checks `if not exists` first and creates later, so the loser of a race fails after the winner's
      // commit: what was to be created is there.
      if (!CREATED_BY_ANOTHER.includes(String(codeOf(error)))) throw error
    }
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
