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
import { IN_RECOVERY, isStandby } from '../postgres/standby.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { toAuditEvent } from './audit-event-row.ts'
import { isDatedAfter, matches } from './audit-filter.ts'
import { ORDER_START, type OrderedPlace, type Place, parsePosition, writePosition } from './audit-position.ts'

/** How far the trail can be read now. */
interface Horizon {
  /** The place of the newest event that can be read. */
  readonly latest: OrderedPlace
  /** A place that is not before this one is of another history of the database. */
  readonly end: Pick<OrderedPlace, 'epoch' | 'transactionId'>
  /** Then a place after the end has not been replayed yet. */
  readonly isStandby: boolean
  /** Events without an order are dated before it. */
  readonly orderedSince: Date
}

/** How many events to read, and which. */
interface ReadOptions {
  readonly filter: AuditFilter
  readonly limit: number
}

/** How many events one read with a filter looks at. */
const WINDOW = 10_000

/** How much later than the first ordered event one without an order can be dated (decision 15), in milliseconds. */
const MAX_DATE_AHEAD = 24 * 60 * 60 * 1000

/** The reader of a migrated database. */
export function createAuditReader(database: Pick<Database, 'db'>): AuditReader {
  return {
    latest: () => usingStorageWithRetries(async () => writePosition((await readHorizon(database)).latest)),

    readAfter: async (position, options) => {
      const place = position === null ? null : parsePosition(position)
      return await usingStorageWithRetries(async () => {
        const horizon = await readHorizon(database)
        if (place?.kind === 'ordered') return await readOrdered(database, place, { ...options, horizon })
        const dated = await readDated(database, place, { ...options, horizon })
        // The ordered events come after the last of the dated ones.
        return (
          dated ?? (await readOrdered(database, await placeAt(database, options.filter.from), { ...options, horizon }))
        )
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
            where e.epoch = instance.audit_epoch and e.transaction_id >= pg_snapshot_xmax(pg_current_snapshot())
              and e.transaction_id > '0')`,
      )
      .executeTakeFirstOrThrow()
    return numUpdatedRows > 0n
  })
}

async function readHorizon({ db }: Pick<Database, 'db'>): Promise<Horizon> {
  const { rows } = await sql<{
    readonly audit_epoch: number
    readonly audit_ordered_since: Date
    readonly xmax: string
    readonly in_recovery: boolean
    readonly epoch: number | null
    readonly transaction_id: string | null
    readonly sequence: string | null
  }>`
    select i.audit_epoch, i.audit_ordered_since, pg_snapshot_xmax(pg_current_snapshot())::text as xmax, ${IN_RECOVERY} as in_recovery, e.*
      from instance i left join lateral (
        select epoch, transaction_id, sequence from audit_events
          where transaction_id > '0'
            and (epoch < i.audit_epoch or transaction_id < pg_snapshot_xmin(pg_current_snapshot()))
          order by epoch desc, transaction_id desc, sequence desc limit 1) e on true
      where i.id = 1`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the row of the instance is missing')
  const { epoch, transaction_id, sequence } = row
  const isEmpty = epoch === null || transaction_id === null || sequence === null
  return {
    latest: isEmpty
      ? ORDER_START
      : { kind: 'ordered', epoch, transactionId: BigInt(transaction_id), sequence: BigInt(sequence) },
    end: { epoch: row.audit_epoch, transactionId: BigInt(row.xmax) },
    isStandby: row.in_recovery,
    orderedSince: row.audit_ordered_since,
  }
}

async function readOrdered(
  { db }: Pick<Database, 'db'>,
  after: OrderedPlace,
  { filter, limit, horizon }: ReadOptions & { readonly horizon: Horizon },
): Promise<AuditBatch> {
  const { latest, end, isStandby } = horizon
  const isAhead = after.epoch > end.epoch || (after.epoch === end.epoch && after.transactionId >= end.transactionId)
  if (isAhead && !isStandby) {
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
    .orderBy('epoch')
    .orderBy('transaction_id')
    .orderBy('sequence')
    .limit(limit)
    .execute()
  const events = rows.map((row) => ({ event: toAuditEvent(row), position: writePosition(placeOf(row)) }))
  const last = events.at(-1)
  if (last !== undefined && events.length === limit) return { events, position: last.position, isComplete: false }
  return { events, position: writePosition(upTo), isComplete: upTo === latest }
}

/** The place up to which one read looks for events that match: so that no statement times out, however few do. */
async function windowEnd(
  { db }: Pick<Database, 'db'>,
  after: OrderedPlace,
  latest: OrderedPlace,
): Promise<OrderedPlace> {
  const row = await db
    .selectFrom('audit_events')
    .select(['epoch', 'transaction_id', 'sequence'])
    .where(isBetween(after, latest))
    .orderBy('epoch')
    .orderBy('transaction_id')
    .orderBy('sequence')
    .offset(WINDOW - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? latest : placeOf(row)
}

/**
 * The place from which events of a date, or later, are looked for. Dates can be ahead of their order by a day (decision 15), so it begins a
 * day earlier.
 */
async function placeAt({ db }: Pick<Database, 'db'>, from: Date | null): Promise<OrderedPlace> {
  if (from === null) return ORDER_START
  const first = db
    .selectFrom('audit_events')
    .select(['epoch', 'transaction_id', 'sequence'])
    .where('event_date', '>=', new Date(from.getTime() - MAX_DATE_AHEAD))
    .where('transaction_id', '>', '0')
    .orderBy('event_date')
    .orderBy('event_id')
    .limit(WINDOW)
    .as('first')
  const row = await db
    .selectFrom(first)
    .selectAll()
    .orderBy('epoch')
    .orderBy('transaction_id')
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return ORDER_START
  const { sequence, ...place } = placeOf(row)
  return { ...place, sequence: sequence - 1n }
}

/** After the first place, up to and with the second one. The index has only events with a transaction. */
function isBetween(after: OrderedPlace, upTo: OrderedPlace) {
  const at = ({ epoch, transactionId, sequence }: OrderedPlace) =>
    sql`(${epoch}::integer, ${String(transactionId)}::xid8, ${String(sequence)}::bigint)`
  return sql<SqlBool>`
    transaction_id > '0' and (epoch, transaction_id, sequence) > ${at(after)} and (epoch, transaction_id, sequence) <= ${at(upTo)}`
}

function placeOf(row: {
  readonly epoch: number
  readonly transaction_id: string
  readonly sequence: string
}): OrderedPlace {
  const { epoch, transaction_id, sequence } = row
  return { kind: 'ordered', epoch, transactionId: BigInt(transaction_id), sequence: BigInt(sequence) }
}

/** Events without an order, by their dates; undefined if there are no more. */
async function readDated(
  { db }: Pick<Database, 'db'>,
  after: Extract<Place, { kind: 'dated' }> | null,
  { filter, limit, horizon }: ReadOptions & { readonly horizon: Horizon },
): Promise<AuditBatch | undefined> {
  let query = db
    .selectFrom('audit_events')
    .selectAll()
    .where('transaction_id', '=', '0')
    .where('event_date', '<', new Date(horizon.orderedSince.getTime() + MAX_DATE_AHEAD))
    .where(matches(filter))
    .orderBy('event_date')
    .orderBy('event_id')
    .limit(limit)
  if (after !== null) query = query.where(isDatedAfter(after))
  const events = (await query.execute()).map((row) => ({
    event: toAuditEvent(row),
    position: writePosition({ kind: 'dated', at: row.event_date, eventId: row.event_id }),
  }))
  const last = events.at(-1)
  return last === undefined ? undefined : { events, position: last.position, isComplete: false }
}

function isBefore(a: OrderedPlace, b: OrderedPlace): boolean {
  if (a.epoch !== b.epoch) return a.epoch < b.epoch
  return a.transactionId === b.transactionId ? a.sequence < b.sequence : a.transactionId < b.transactionId
}
