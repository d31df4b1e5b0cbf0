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
 *
 * The list is written out instead of read from a folder, so that the compiler checks it and a stray file cannot change it.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  MIGRATION_LOCK_ID,
  type Migration,
  Migrator,
} from 'kysely/migration'
import type { TakeOver } from '../../domain/integrity.ts'
import { isInitialised } from '../instance/instance-row.ts'
import { initialSchema } from '../migrations/0001-initial-schema.ts'
import { identities } from '../migrations/0002-identities.ts'
import { manyReplicas } from '../migrations/0003-many-replicas.ts'
import { rotation } from '../migrations/0004-rotation.ts'
import { integrity } from '../migrations/0005-integrity.ts'
import { publication } from '../migrations/0006-publication.ts'
import { issuer } from '../migrations/0007-issuer.ts'
import { auditAddress } from '../migrations/0008-audit-address.ts'
import { expiry } from '../migrations/0009-expiry.ts'
import { tokens } from '../migrations/0010-tokens.ts'
import { federation } from '../migrations/0011-federation.ts'
import { boundTokens } from '../migrations/0012-bound-tokens.ts'
import { issuerKeys } from '../migrations/0013-issuer-keys.ts'
import { clientCertificates } from '../migrations/0014-client-certificates.ts'
import { consoleSessions } from '../migrations/0015-console.ts'
import { replicas } from '../migrations/0016-replicas.ts'
import { roles } from '../migrations/0017-roles.ts'
import { eventOrder } from '../migrations/0018-event-order.ts'
import { webhooks } from '../migrations/0019-webhooks.ts'
import { configuration } from '../migrations/0020-configuration.ts'
import { changedUsers } from '../migrations/0021-changed-users.ts'
import type { Database } from '../postgres/database.ts'
import { assertPrimary } from '../postgres/standby.ts'
import { errorCodeOf, INSUFFICIENT_PRIVILEGE, usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { assertKnownSchema } from './schema-major.ts'
import type { Tables } from './tables.ts'
import { type TakenOver, takeOverInstance } from './take-over.ts'

/** The migration that made the schema's major version visible. */
const MAJOR_KNOWN_SINCE = '0003-many-replicas'

/** The migration that takes an instance over: it needs the master keys. */
const TAKES_OVER = '0005-integrity'

const migrationsWith = (takeOver: TakeOverStep): Readonly<Record<string, Migration>> => ({
  '0001-initial-schema': initialSchema,
  '0002-identities': identities,
  [MAJOR_KNOWN_SINCE]: manyReplicas,
  '0004-rotation': rotation,
  [TAKES_OVER]: integrity(takeOver),
  '0006-publication': publication,
  '0007-issuer': issuer,
  '0008-audit-address': auditAddress,
  '0009-expiry': expiry,
  '0010-tokens': tokens,
  '0011-federation': federation,
  '0012-bound-tokens': boundTokens,
  '0013-issuer-keys': issuerKeys,
  '0014-client-certificates': clientCertificates,
  '0015-console': consoleSessions,
  '0016-replicas': replicas,
  '0017-roles': roles,
  '0018-event-order': eventOrder,
  '0019-webhooks': webhooks,
  '0020-configuration': configuration,
  '0021-changed-users': changedUsers,
})

/** Gives an existing instance an integrity key. */
type TakeOverStep = (db: Kysely<Tables>) => Promise<void>

const NAMES = Object.keys(migrationsWith(async () => {}))

/** Stands for a migration that a newer program has run. */
const DONE: Migration = {
  up: () => Promise.reject(new Error('only a newer version of Keyturn can run this migration')),
}

const MAY_NOT_MIGRATE =
  'the schema of the database is older than this version of Keyturn, and this role may not change it: ' +
  'run "keyturn migrate" with a role that may'

const NOT_MIGRATED_YET =
  'its schema is older than this version of Keyturn: start this version, or run "keyturn migrate", on its primary'

/** Duplicate table, duplicate type, unique violation: how `if not exists` fails when another session was faster. */
const CREATED_BY_ANOTHER = ['42P07', '42710', '23505']

/** How an instance without an integrity key gets one. */
export interface TakingOver {
  readonly takeOver: TakeOver
  /** Called before the commit, and again if the transaction is retried. */
  readonly onTakenOver: (taken: TakenOver) => void
}

/**
 * Runs the missing migrations, all in one transaction, and returns their names. If none is missing, this takes no lock, and needs
 * no right except to read.
 *
 * Other replicas wait in one statement, and try again when it times out.
 *
 * @param takingOver Required if `needsTakeOver`.
 * @throws {DomainError} `storage_unavailable`; also if the database is a standby on which one is missing.
 * @throws {NewerSchema} if the database was migrated by a newer major version.
 * @throws {Error} if a migration fails, or the role may not run it. Nothing has changed then.
 */
export async function migrate(database: Database, takingOver?: TakingOver): Promise<readonly string[]> {
  if (await isMigrated(database)) return []
  const { db } = database
  await assertPrimary(db, NOT_MIGRATED_YET)
  return await usingStorageWithRetries(async () => {
    try {
      // Outside the transaction: losing the race to create a table would abort it.
      await createBookkeeping(db)
      return await db
        .transaction()
        .setIsolationLevel('read committed')
        .execute((trx) => migrateUnderLock(trx, takingOver))
    } catch (error) {
      throw errorCodeOf(error) === INSUFFICIENT_PRIVILEGE ? new Error(MAY_NOT_MIGRATE, { cause: error }) : error
    }
  })
}

/** Whether `migrate` would find an instance without an integrity key. */
export async function needsTakeOver({ db }: Database): Promise<boolean> {
  return await usingStorageWithRetries(() =>
    db.transaction().execute(async (trx) => {
      const done = await doneMigrations(trx)
      return done.length > 0 && !done.includes(TAKES_OVER) && (await isInitialised(trx))
    }),
  )
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
  const done = await usingStorageWithRetries(() => db.transaction().execute(doneMigrations))
  return NAMES.every((name) => done.includes(name))
}

async function doneMigrations(trx: Transaction<Tables>): Promise<readonly string[]> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass(${DEFAULT_MIGRATION_TABLE}) is not null as there`.execute(trx)
  return rows[0]?.there === true ? await migrationsSoFar(trx) : []
}

async function migrateUnderLock(
  trx: Transaction<Tables>,
  takingOver: TakingOver | undefined,
): Promise<readonly string[]> {
  // Before anything is read: another program may be migrating.
  await sql`select id from ${sql.table(DEFAULT_MIGRATION_LOCK_TABLE)} for update`.execute(trx)
  const later = await laterMigrations(trx)
  const migrations = migrationsWith(async (trx) => {
    if (!(await isInitialised(trx))) return
    if (takingOver === undefined)
      throw new Error('the instance has no integrity key yet: run this with its master keys')
    takingOver.onTakenOver(await takeOverInstance(trx, takingOver.takeOver))
  })
  // Given a transaction, Kysely runs everything in it. Its own lock is switched off (`row-lock-dialect.ts`).
  const provider = { getMigrations: async () => ({ ...migrations, ...later }) }
  const migrator = new Migrator({ db: trx, provider })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error === undefined) return results.map(({ migrationName }) => migrationName)

  const failed = results.find(({ status }) => status === 'Error')
  if (failed === undefined) throw error
  throw new MigrationFailure(failed.migrationName, error)
}

/** Names the migration, and keeps the code of the database's error, which distinguishes it from a lost connection. */
class MigrationFailure extends Error {
  override readonly name = 'MigrationFailure'
  readonly code: string

  constructor(migrationName: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`migration ${migrationName} failed: ${reason}`, { cause })
    this.code = errorCodeOf(cause)
  }
}

/** Migrations of newer programs that this one can work with. Kysely would report the database as corrupt. */
async function laterMigrations(trx: Transaction<Tables>): Promise<Readonly<Record<string, Migration>>> {
  const unknown = (await migrationsSoFar(trx)).filter((name) => !NAMES.includes(name))
  return Object.fromEntries(unknown.map((name) => [name, DONE]))
}

/** The names of all migrations that have been run. @throws {NewerSchema} if this program cannot work with them. */
async function migrationsSoFar(trx: Transaction<Tables>): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(trx)
  const names = rows.map(({ name }) => name)
  if (names.includes(MAJOR_KNOWN_SINCE)) {
    const { schema_major } = await trx.selectFrom('instance').select('schema_major').executeTakeFirstOrThrow()
    assertKnownSchema(schema_major)
  }
  return names
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
      // commit, and the table exists.
      if (!CREATED_BY_ANOTHER.includes(errorCodeOf(error))) throw error
    }
  }
}
