/** The `CredentialExpiries` on a database. An announcement is marked at its credential, in the statement that writes its event. */
import { sql } from 'kysely'
import { CREDENTIAL_KINDS, type CredentialKind, partOf } from '../../domain/identities/credential.ts'
import type { CredentialCounts, CredentialExpiries } from '../../domain/ports/identities.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'

/** How many announcements are made at once. */
const BATCH = 1000

const NOTICE_DAYS = { early: 30, late: 7 }

/** A client secret was used if it was within so many days. */
const USED_WITHIN_DAYS = 30
const UNUSED_AFTER_DAYS = 90

const LIVE_CREDENTIALS = sql`
  credentials c join service_users u on u.user_id = c.user_id and u.enabled
    and c.deactivation_date is null and (c.expiration_date is null or c.expiration_date > statement_timestamp())`

const IS_LATE = sql`c.expiration_date <= statement_timestamp() + make_interval(days => ${sql.lit(NOTICE_DAYS.late)})`
const IS_EARLY = sql`c.expiration_date <= statement_timestamp() + make_interval(days => ${sql.lit(NOTICE_DAYS.early)})`

/** For each kind: its part of resource names. */
const PARTS = sql.join(
  CREDENTIAL_KINDS.map((kind) => sql`when ${sql.lit(kind)} then ${sql.lit(partOf(kind))}`),
  sql` `,
)

export function createCredentialExpiries({ db }: Pick<Database, 'db'>): CredentialExpiries {
  const announce = async () => {
    const { numAffectedRows = 0n } = await sql`
      with due as (
        select c.credential_id, d.days
          from ${LIVE_CREDENTIALS}
            cross join lateral (
              select case when ${IS_LATE} then ${sql.lit(NOTICE_DAYS.late)} else ${sql.lit(NOTICE_DAYS.early)} end as days) d
          where ${IS_EARLY} and (c.announced_days is null or c.announced_days > d.days)
            and c.creation_date + make_interval(days => d.days) <= c.expiration_date
          order by c.expiration_date limit ${sql.lit(BATCH)}
          for update of c skip locked
      ), announced as (
        update credentials c set announced_days = due.days from due where c.credential_id = due.credential_id
          returning c.user_id, c.kind, c.credential_id, due.days
      )
      insert into audit_events (event_id, event_date, actor, action, resource, outcome, request_id, epoch)
        select gen_random_uuid(), ${CLOCK}, 'system', 'credentials/expires_within_' || days || '_days',
            'users/' || user_id || '/' || (case kind ${PARTS} end) || '/' || credential_id, 'ok', '',
            (select audit_epoch from instance where id = 1)
          from announced`.execute(db)
    return { announced: Number(numAffectedRows), isComplete: numAffectedRows < BATCH }
  }

  const count = async (): Promise<CredentialCounts> => {
    const isUsed = sql`
      (c.kind <> 'client_secret' or c.last_use_date > statement_timestamp() - make_interval(days => ${sql.lit(USED_WITHIN_DAYS)}))`
    const { rows } = await sql<{ readonly kind: CredentialKind; readonly early: string; readonly late: string }>`
      select c.kind, count(*) as early, count(*) filter (where ${IS_LATE}) as late
        from ${LIVE_CREDENTIALS} where ${IS_EARLY} and ${isUsed} group by c.kind`.execute(db)
    const unused = await sql<{ readonly count: string }>`
      select count(*) from ${LIVE_CREDENTIALS}
        where c.kind = 'client_secret' and coalesce(c.last_use_date, c.creation_date)
            < statement_timestamp() - make_interval(days => ${sql.lit(UNUSED_AFTER_DAYS)})`.execute(db)
    const expiring = CREDENTIAL_KINDS.filter((kind) => kind !== 'federated_identity').flatMap((kind) => {
      const row = rows.find((row) => row.kind === kind)
      return [
        { kind, withinDays: NOTICE_DAYS.early, count: Number(row?.early ?? 0) },
        { kind, withinDays: NOTICE_DAYS.late, count: Number(row?.late ?? 0) },
      ]
    })
    return { expiring, unusedSecrets: Number(unused.rows[0]?.count ?? 0) }
  }

  return {
    announce: () => usingStorageWithRetries(announce),
    count: () => usingStorageWithRetries(count),
  }
}
