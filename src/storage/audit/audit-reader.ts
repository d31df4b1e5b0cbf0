/**
 * The `AuditReader` on a database: the trail in an order that no late commit precedes (decision 37).
 *
 * Events are ordered by the transaction that wrote them. An event is read when no transaction with a lower id is running any more, so
 * that no event can still appear before it. A transaction that stays open holds all later events back, and loses none.
 */
import { type SqlBool, sql } from 'kysely'
import type { AuditFilter } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { AuditBatch, AuditReader } from '../../domain/ports/audit.ts'
import type { Database } from '../postgres/database.ts'
import { IN_RECOVERY, isStandby } from '../postgres/server-state.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { matches, toAuditEvent } from './audit-event-row.ts'
import {
  IN_ORDER,
  isBefore,
  ORDER_START,
  PLACE_COLUMNS,
  type Place,
  parsePosition,
  writePosition,
} from './audit-position.ts'

/** How far the trail can be read now. */
interface Horizon {
  /** The place of the newest event that can be read. */
  readonly latest: Place
  /** A place that is not before this one is of another history of the database. */
  readonly end: Place
  /** Then a place after the end has not been replayed yet. */
  readonly isStandby: boolean
}

/** How many events to read, and which. */
interface ReadOptions {
  readonly filter: AuditFilter
  readonly limit: number
}

/** How many events one read with a filter looks at. */
const WINDOW = 10_000

/** How much a date can be ahead of the order (decision 15), in milliseconds. */
const MAX_DATE_AHEAD = 24 * 60 * 60 * 1000

export function createAuditReader(database: Pick<Database, 'db'>): AuditReader {
  return {
    latest: () => usingStorageWithRetries(async () => writePosition((await readHorizon(database)).latest)),

    readAfter: async (position, options) => {
      const place = position === null ? null : parsePosition(position)
      return await usingStorageWithRetries(async () => {
        const horizon = await readHorizon(database)
        return await readOrdered(database, place ?? (await placeAt(database, options.filter.from)), {
          ...options,
          horizon,
        })
      })
    },
  }
}

/** Once a higher epoch is stored, events get it: those of a database that was loaded into another server keep their order before new ones. */
export async function startEpoch({ db }: Pick<Database, 'db'>): Promise<boolean> {
  // It has the transactions of its primary, also after a promotion.
  if (await isStandby(db)) return false
  return await usingStorageWithRetries(async () => {
    const { numUpdatedRows } = await db
      .updateTable('instance')
      .set({ audit_epoch: sql<number>`audit_epoch + 1` })
      .where('id', '=', 1)
      .where(
        sql<SqlBool>`exists (
          select from audit_events e
            where e.epoch = instance.audit_epoch and e.transaction_id >= pg_snapshot_xmax(pg_current_snapshot()))`,
      )
      .executeTakeFirstOrThrow()
    return numUpdatedRows > 0n
  })
}

async function readHorizon({ db }: Pick<Database, 'db'>): Promise<Horizon> {
  const { rows } = await sql<
    { readonly audit_epoch: number; readonly xmax: string; readonly in_recovery: boolean } & (
      | Place
      | { readonly epoch: null }
    )
  >`
    select i.audit_epoch, pg_snapshot_xmax(pg_current_snapshot())::text as xmax, ${IN_RECOVERY} as in_recovery, e.*
      from instance i left join lateral (
        select epoch, transaction_id, sequence from audit_events
          where epoch < i.audit_epoch or transaction_id < pg_snapshot_xmin(pg_current_snapshot())
          order by epoch desc, transaction_id desc, sequence desc limit 1) e on true
      where i.id = 1`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the row of the instance is missing')
  return {
    latest: row.epoch === null ? ORDER_START : row,
    end: { epoch: row.audit_epoch, transaction_id: row.xmax, sequence: '0' },
    isStandby: row.in_recovery,
  }
}

async function readOrdered(
  { db }: Pick<Database, 'db'>,
  after: Place,
  { filter, limit, horizon }: ReadOptions & { readonly horizon: Horizon },
): Promise<AuditBatch> {
  const { latest, end, isStandby } = horizon
  if (!isBefore(after, end) && !isStandby) {
    throw new DomainError(
      'audit_position_unknown',
      'the position is ahead of the database, which was restored to an earlier time: begin at a date',
    )
  }
  if (!isBefore(after, latest)) {
    // Events between the two were deleted, or the standby has not replayed them. No other can come there.
    return { events: [], position: writePosition(isStandby ? after : latest), isComplete: true }
  }
  const isFiltered = Object.values(filter).some((value) => value !== null)
  const upTo = isFiltered ? await windowEnd({ db }, after, latest) : latest
  const rows = await db
    .selectFrom('audit_events')
    .selectAll()
    .where(isBetween(after, upTo))
    .where(matches(filter))
    .orderBy(IN_ORDER)
    .limit(limit)
    .execute()
  const events = rows.map((row) => ({ event: toAuditEvent(row), position: writePosition(row) }))
  const last = events.at(-1)
  if (last !== undefined && events.length === limit) return { events, position: last.position, isComplete: false }
  return { events, position: writePosition(upTo), isComplete: upTo === latest }
}

/** The place up to which one read looks for events that match: so that no statement times out, however few do. */
async function windowEnd({ db }: Pick<Database, 'db'>, after: Place, latest: Place): Promise<Place> {
  const row = await db
    .selectFrom('audit_events')
    .select(PLACE_COLUMNS)
    .where(isBetween(after, latest))
    .orderBy(IN_ORDER)
    .offset(WINDOW - 1)
    .limit(1)
    .executeTakeFirst()
  return row ?? latest
}

/**
 * The place from which events of a date, or later, are looked for. Dates can be ahead of their order by a day (decision 15), so it begins a
 * day earlier.
 */
async function placeAt({ db }: Pick<Database, 'db'>, from: Date | null): Promise<Place> {
  if (from === null) return ORDER_START
  const first = db
    .selectFrom('audit_events')
    .select(PLACE_COLUMNS)
    .where('event_date', '>=', new Date(from.getTime() - MAX_DATE_AHEAD))
    .orderBy('event_date')
    .orderBy('event_id')
    .limit(WINDOW)
    .as('first')
  const row = await db.selectFrom(first).selectAll().orderBy(IN_ORDER).limit(1).executeTakeFirst()
  return row === undefined ? ORDER_START : { ...row, sequence: String(BigInt(row.sequence) - 1n) }
}

/** After the first place, up to and with the second one. */
function isBetween(after: Place, upTo: Place) {
  const at = ({ epoch, transaction_id, sequence }: Place) =>
    sql`(${epoch}::integer, ${transaction_id}::xid8, ${sequence}::bigint)`
  return sql<SqlBool>`(${IN_ORDER}) > ${at(after)} and (${IN_ORDER}) <= ${at(upTo)}`
}
