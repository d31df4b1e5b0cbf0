/**
 * The one row of `instance`: the version of everything, and the lock that all writers take turns at.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import type { InstanceStatus } from '../domain/ports.ts'
import type { Database } from './database.ts'
import { assertKnownSchema } from './schema-major.ts'
import type { Tables } from './tables.ts'

/** The NOTIFY channel on which a new version is announced. */
export const CHANGES_CHANNEL = 'keyturn_changes'

/** In whole milliseconds, as the tables keep time. */
const CLOCK = sql<Date>`date_trunc('milliseconds', clock_timestamp())`

/**
 * Reads at which change the instance is, as far as the transaction can see.
 *
 * @throws {NewerSchema}
 */
export async function readStatus(trx: Transaction<Tables>): Promise<InstanceStatus> {
  const notBefore = performance.now()
  const { version, changed_at, schema_major, issuer, now } = await trx
    .selectFrom('instance')
    .select(['version', 'changed_at', 'schema_major', 'issuer', CLOCK.as('now')])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  const notAfter = performance.now()
  assertKnownSchema(schema_major)
  const clock = { databaseTime: now, notBefore, notAfter }
  return { version: toVersion(version), changedAt: changed_at, issuer, clock }
}

/**
 * Waits until no other writer is at work, in any process, and keeps others away until the transaction ends.
 *
 * The transaction must be READ COMMITTED: then what it reads afterwards includes what the writers before it did.
 *
 * @throws {NewerSchema}
 */
export async function lockInstance(trx: Transaction<Tables>): Promise<{ readonly initialised: boolean }> {
  const { initialised_at, schema_major } = await trx
    .selectFrom('instance')
    .select(['initialised_at', 'schema_major'])
    .where('id', '=', 1)
    .forUpdate()
    .executeTakeFirstOrThrow()
  assertKnownSchema(schema_major)
  return { initialised: initialised_at !== null }
}

/**
 * The time of the database, in whole milliseconds as the tables keep it. Ask after taking the lock: `now()` would be
 * the time at which the transaction began to wait for it.
 */
export async function readClock(db: Kysely<Tables>): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select ${CLOCK} as now`.execute(db)
  const now = rows[0]?.now
  if (now === undefined) throw new Error('the database did not tell the time')
  return now
}

/** Counts the change that the transaction makes, and announces it, if it shall be, when the transaction commits. */
export async function bumpVersion(
  trx: Transaction<Tables>,
  { announcesChanges }: Pick<Database, 'announcesChanges'>,
): Promise<void> {
  const bump = sql`update instance set version = version + 1, changed_at = ${CLOCK} where id = 1`
  // Engines without NOTIFY refuse it, and the change with it.
  if (!announcesChanges) await bump.execute(trx)
  else {
    await sql`
      with changed as (${bump} returning version)
      select pg_notify(${CHANGES_CHANNEL}, version::text) from changed`.execute(trx)
  }
}

/** Both drivers' ways to read a bigint. */
function toVersion(version: string | number | bigint): number {
  return Number(version)
}
