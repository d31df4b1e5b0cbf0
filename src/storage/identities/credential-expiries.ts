/**
 * The `CredentialExpiries` on a database. Announcements are marked in `expiry_notices`, in the statement that writes their events.
 */
import { type RawBuilder, sql } from 'kysely'
import type { CredentialCounts, CredentialExpiries, CredentialKind } from '../../domain/ports/credential-expiries.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { CLOCK } from '../schema/clock.ts'

/** How many announcements are made at once. */
const BATCH = 1000

const NOTICE_DAYS = { early: 30, late: 7 }

/** A client secret was used if it was within so many days. */
const USED_WITHIN_DAYS = 30
const UNUSED_AFTER_DAYS = 90

/** A kind of credential: its table, its part of the resource name, and which of its rows still work. */
interface Kind {
  readonly kind: CredentialKind
  readonly table: string
  readonly id: string
  readonly part: string
  readonly works: RawBuilder<boolean>
  /** Whether it is used, as far as that is known. */
  readonly isUsed: RawBuilder<boolean>
}

const TRUE = sql<boolean>`true`

const KINDS: readonly Kind[] = [
  {
    kind: 'client_secret',
    table: 'client_secrets',
    id: 'secret_id',
    part: 'secrets',
    works: sql`c.deactivation_date is null`,
    isUsed: sql`c.last_use_date > statement_timestamp() - make_interval(days => ${sql.lit(USED_WITHIN_DAYS)})`,
  },
  { kind: 'user_key', table: 'user_keys', id: 'key_id', part: 'keys', works: TRUE, isUsed: TRUE },
  {
    kind: 'personal_access_token',
    table: 'personal_access_tokens',
    id: 'token_id',
    part: 'tokens',
    works: TRUE,
    isUsed: TRUE,
  },
  {
    kind: 'client_certificate',
    table: 'client_certificates',
    id: 'certificate_id',
    part: 'certificates',
    works: TRUE,
    isUsed: TRUE,
  },
]

/** The credentials of all kinds that expire soon. */
const EXPIRING = sql.join(
  KINDS.map(
    ({ kind, table, id, part, works, isUsed }) => sql`
      select ${sql.lit(kind)} as kind, c.${sql.ref(id)} as id, c.user_id, ${sql.lit(part)} as part, c.creation_date,
          c.expiration_date, ${isUsed} as is_used
        from ${sql.table(table)} c join service_users u on u.user_id = c.user_id and u.enabled
        where c.expiration_date > statement_timestamp()
          and c.expiration_date <= statement_timestamp() + make_interval(days => ${sql.lit(NOTICE_DAYS.early)})
          and ${works}`,
  ),
  sql` union all `,
)

const IS_LATE = sql`expiration_date <= statement_timestamp() + make_interval(days => ${sql.lit(NOTICE_DAYS.late)})`

export function createCredentialExpiries({ db }: Pick<Database, 'db'>): CredentialExpiries {
  const announce = async () => {
    await sql`delete from expiry_notices where expiration_date < statement_timestamp() - interval '1 day'`.execute(db)
    const { numAffectedRows = 0n } = await sql`
      with expiring as (
        select *, case when ${IS_LATE} then ${sql.lit(NOTICE_DAYS.late)} else ${sql.lit(NOTICE_DAYS.early)} end as days
          from (${EXPIRING}) e
      ), due as (
        select * from expiring e
          where creation_date + make_interval(days => days) <= expiration_date
            and not exists (
              select from expiry_notices n
                where n.credential_id = e.id and n.days = e.days and n.expiration_date = e.expiration_date)
          order by expiration_date limit ${sql.lit(BATCH)}
      ), marked as (
        insert into expiry_notices (credential_id, days, expiration_date)
          select id, days, expiration_date from due on conflict do nothing
          returning credential_id, days
      )
      insert into audit_events (event_id, event_date, actor, action, resource, outcome, request_id, epoch)
        select gen_random_uuid(), ${CLOCK}, 'system', 'credentials/expires_within_' || days || '_days',
            'users/' || user_id || '/' || part || '/' || id, 'ok', '', (select audit_epoch from instance where id = 1)
          from due join marked using (days) where due.id = marked.credential_id`.execute(db)
    return { announced: Number(numAffectedRows), isComplete: numAffectedRows < BATCH }
  }

  const count = async (): Promise<CredentialCounts> => {
    const { rows } = await sql<{ readonly kind: CredentialKind; readonly early: string; readonly late: string }>`
      select kind, count(*) as early, count(*) filter (where ${IS_LATE}) as late
        from (${EXPIRING}) e where is_used group by kind`.execute(db)
    const unused = await sql<{ readonly count: string }>`
      select count(*) from client_secrets c join service_users u on u.user_id = c.user_id and u.enabled
        where coalesce(c.last_use_date, c.creation_date)
            < statement_timestamp() - make_interval(days => ${sql.lit(UNUSED_AFTER_DAYS)})
          and (c.expiration_date is null or c.expiration_date > statement_timestamp())
          and c.deactivation_date is null`.execute(db)
    const expiring = KINDS.flatMap(({ kind }) => {
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
