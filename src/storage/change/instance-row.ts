/** The one row of `instance`: its version, and the lock that serialises all changes. */
import { type Kysely, sql, type Transaction } from 'kysely'
import type { ChangedUsers, Revision } from '../../domain/changes.ts'
import type { InstanceStatus } from '../../domain/ports/instance.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import { CHANGES_CHANNEL } from '../postgres/change-feed.ts'
import type { Database } from '../postgres/database.ts'
import { IN_RECOVERY } from '../postgres/server-state.ts'
import { CLOCK } from '../schema/clock.ts'
import { assertKnownSchema } from '../schema/schema-major.ts'
import type { Tables } from '../schema/tables.ts'
import { KEPT_CHANGES, toChangeColumns } from './change-row.ts'

/** After every earlier change, also when the clock has gone back (decision 15). */
const CHANGE_TIME = sql<Date>`greatest(${CLOCK}, changed_at + interval '1 millisecond')`

/** What a standby has not replayed yet is older than its newest heartbeat. A primary does not look for it. */
const NEWEST_HEARTBEAT = sql<Date | null>`case when pg_is_in_recovery() then (select max(last_seen_date) from replicas) end`

/** Reads the version of the instance that the transaction sees, with its dates. @throws {NewerSchema} */
export async function readStatus(trx: Transaction<Tables>): Promise<InstanceStatus> {
  const askedAt = Date.now()
  const { version, changed_at, schema_major, issuer, now, in_recovery, newest_heartbeat } = await trx
    .selectFrom('instance')
    .select(['version', 'changed_at', 'schema_major', 'issuer', CLOCK.as('now')])
    .select([IN_RECOVERY.as('in_recovery'), NEWEST_HEARTBEAT.as('newest_heartbeat')])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  const answeredAt = Date.now()
  assertKnownSchema(schema_major)
  // By no more than is certain: the clock was read at some moment in between, and is in whole milliseconds.
  const offset = Math.max(0, now.getTime() - answeredAt - 1) + Math.min(0, now.getTime() + 1 - askedAt)
  const clock = { databaseTime: now, offsetSeconds: offset / 1000 }
  const standby = in_recovery ? { newestHeartbeat: newest_heartbeat } : null
  return { version: Number(version), changedAt: changed_at, issuer, clock, standby }
}

export async function isInitialised(db: Kysely<Tables>): Promise<boolean> {
  const { initialised_at } = await db
    .selectFrom('instance')
    .select('initialised_at')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  return initialised_at !== null
}

/**
 * Takes the lock of the instance until the transaction ends. It excludes all other changes, in every process.
 *
 * The transaction must be READ COMMITTED: then its later reads include the changes of previous holders of the lock.
 * @throws {NewerSchema}
 */
export async function lockInstance(
  trx: Transaction<Tables>,
): Promise<{ readonly initialised: boolean; readonly revision: Revision }> {
  const { initialised_at, schema_major, version, changed_at } = await trx
    .selectFrom('instance')
    .select(['initialised_at', 'schema_major', 'version', 'changed_at'])
    .where('id', '=', 1)
    .forUpdate()
    .executeTakeFirstOrThrow()
  assertKnownSchema(schema_major)
  return { initialised: initialised_at !== null, revision: { version: Number(version), changedAt: changed_at } }
}

/**
 * The moment of a change that is made now, in whole milliseconds. Call it after taking the lock: `now()` would be the time at which the
 * transaction began to wait for it.
 */
export async function readChangeMoment(db: Kysely<Tables>): Promise<ChangeMoment> {
  return await db
    .selectFrom('instance')
    .select([CLOCK.as('clock'), CHANGE_TIME.as('date')])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
}

/** The date of `readChangeMoment`. */
export async function readChangeTime(db: Kysely<Tables>): Promise<Date> {
  return (await readChangeMoment(db)).date
}

/**
 * Raises the version, notes what it changed, and has the commit send NOTIFY if changes are announced.
 * @param change Its date, from `readChangeMoment` or later, and the users that it may have changed.
 * @returns The revision that it makes.
 */
export async function bumpVersion(
  trx: Transaction<Tables>,
  { announcesChanges }: Pick<Database, 'announcesChanges'>,
  { at, users }: { readonly at: Date; readonly users: ChangedUsers },
): Promise<Revision> {
  const { userIds, projectIds } = toChangeColumns(users)
  // Rows of this version and of later ones are left where somebody has set the version back by hand.
  // Databases without NOTIFY refuse it, and the change with it.
  const announcement = announcesChanges ? sql`, pg_notify(${CHANGES_CHANNEL}, version::text)` : sql``
  const { rows } = await sql<RevisionRow>`
    with changed as (
      update instance set version = version + 1, changed_at = ${at} where id = 1
      returning version, changed_at),
    noted as (
      insert into instance_changes (version, changed_at, user_ids, project_ids)
      select version, changed_at, ${userIds}::uuid[], ${projectIds}::uuid[] from changed
      on conflict (version) do update
        set changed_at = excluded.changed_at, user_ids = excluded.user_ids, project_ids = excluded.project_ids),
    forgotten as (
      delete from instance_changes as c using changed
      where c.version <= changed.version - ${sql.lit(KEPT_CHANGES)} or c.version > changed.version)
    select version, changed_at${announcement} from changed`.execute(trx)
  const [row] = rows
  if (row === undefined) throw new Error('the row of the instance is missing')
  return { version: Number(row.version), changedAt: row.changed_at }
}

interface RevisionRow {
  readonly version: string
  readonly changed_at: Date
}
