/**
 * Brings a database to the schema of this version of Keyturn. Safe to run by several replicas at once.
 *
 * During an upgrade, replicas of two versions work on one instance (decision 7). So within a major version of the schema,
 * migrations only add, and new columns have a default or may be null: an older program of the same major neither notices nor
 * breaks them. It accepts migrations that it does not know, and runs none of them. A change that would break an older program,
 * such as dropping or renaming a column, a constraint that its writes violate, or data that it would misread, needs a migration
 * that raises `instance.schema_major`, together with `SCHEMA_MAJOR` in `schema-major.ts`. A program refuses a database of a
 * higher major: at the start, at every comparison of versions, and under the lock of every change. Migrations are named
 * `NNNN-what`, in order.
 */
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { messageOf } from '../../domain/errors.ts'
import type { Database } from '../postgres/database.ts'
import { assertPrimary } from '../postgres/server-state.ts'
import {
  errorCodeOf,
  INSUFFICIENT_PRIVILEGE,
  isUnavailable,
  usingStorageWithRetries,
} from '../postgres/storage-errors.ts'
import { assertKnownSchema } from '../schema/schema-major.ts'
import type { Tables } from '../schema/tables.ts'
import { initialSchema } from './0001-initial-schema.ts'

const MIGRATIONS: Readonly<Record<string, readonly RawBuilder<unknown>[]>> = {
  '0001-initial-schema': initialSchema,
}

const NAMES = Object.keys(MIGRATIONS)

const MAY_NOT_MIGRATE =
  'the schema of the database is older than this version of Keyturn, and this role may not change it: ' +
  'run "keyturn migrate" with a role that may'

const NOT_MIGRATED_YET =
  'its schema is older than this version of Keyturn: start this version, or run "keyturn migrate", on its primary'

const BEFORE_THE_FIRST_RELEASE =
  'the database was made by a version of Keyturn before its first release, which none can read: use an empty one'

/** Duplicate table, duplicate type, unique violation: how `if not exists` fails when another session was faster. */
const CREATED_BY_ANOTHER = ['42P07', '42710', '23505']

/**
 * Runs the missing migrations, all in one transaction, and returns their names. If none is missing, this takes no lock, and needs
 * no right except to read.
 *
 * Other replicas wait in one statement, and try again when it times out.
 *
 * @throws {DomainError} `storage_unavailable`; also if the database is a standby on which one is missing.
 * @throws {NewerSchema} if the database was migrated by a newer major version.
 * @throws {Error} if a migration fails, or the role may not run it. Nothing has changed then.
 */
export async function migrate(database: Database): Promise<readonly string[]> {
  if (await isMigrated(database)) return []
  const { db } = database
  await assertPrimary(db, NOT_MIGRATED_YET)
  return await usingStorageWithRetries(async () => {
    try {
      // Outside the transaction: losing the race to create the table would abort it.
      await createRecord(db)
      return await db.transaction().setIsolationLevel('read committed').execute(runMissing)
    } catch (error) {
      throw errorCodeOf(error) === INSUFFICIENT_PRIVILEGE ? new Error(MAY_NOT_MIGRATE, { cause: error }) : error
    }
  })
}

/**
 * Asserts that no migration is missing. Changes nothing.
 *
 * @throws {NewerSchema} if the database was migrated by a newer major version.
 * @throws {Error} that says what to do, if one is missing.
 */
export async function assertMigrated(database: Database): Promise<void> {
  if (!(await isMigrated(database))) {
    throw new Error('the schema of the database is older than this version of Keyturn: run "keyturn migrate" first')
  }
}

async function isMigrated({ db }: Database): Promise<boolean> {
  const missing = await usingStorageWithRetries(() => db.transaction().execute(missingMigrations))
  return missing.length === 0
}

/** @throws {NewerSchema} if this program cannot work with the migrations that have been run. */
async function missingMigrations(trx: Transaction<Tables>): Promise<readonly string[]> {
  const found = await sql<{ readonly recorded: boolean; readonly unreleased: boolean }>`
    select to_regclass('migrations') is not null as recorded, to_regclass('kysely_migration') is not null as unreleased`.execute(
    trx,
  )
  if (found.rows[0]?.unreleased === true) throw new Error(BEFORE_THE_FIRST_RELEASE)
  if (found.rows[0]?.recorded !== true) return NAMES
  const done = (await trx.selectFrom('migrations').select('name').execute()).map(({ name }) => name)
  if (done.length > 0) {
    const { schema_major } = await trx.selectFrom('instance').select('schema_major').executeTakeFirstOrThrow()
    assertKnownSchema(schema_major)
  }
  return NAMES.filter((name) => !done.includes(name))
}

async function runMissing(trx: Transaction<Tables>): Promise<readonly string[]> {
  // Before anything is read: another program may be migrating. Readers of the record do not wait.
  await sql`lock table migrations in exclusive mode`.execute(trx)
  const missing = await missingMigrations(trx)
  for (const name of missing) {
    try {
      for (const statement of MIGRATIONS[name] ?? []) await statement.execute(trx)
    } catch (error) {
      throw isUnavailable(error) ? error : new Error(`migration ${name} failed: ${messageOf(error)}`, { cause: error })
    }
    await trx.insertInto('migrations').values({ name }).execute()
  }
  return missing
}

/** The record of the migrations that have been run. */
async function createRecord(db: Kysely<Tables>): Promise<void> {
  try {
    await sql`
      create table if not exists migrations (
        name text primary key,
        run_date timestamptz(3) not null default now()
      )`.execute(db)
  } catch (error) {
    // PostgreSQL checks `if not exists` first and creates later, so the loser of a race fails after the winner's commit, and the table
    // exists.
    if (!CREATED_BY_ANOTHER.includes(errorCodeOf(error))) throw error
  }
}
