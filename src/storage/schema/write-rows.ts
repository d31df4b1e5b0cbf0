/** Writes what a change made of resources: the differences between their rows. */
import { sql, type Transaction } from 'kysely'
import type { Tables } from './tables.ts'

/** Resources as rows of a table. */
export interface RowsOf<T> {
  readonly table: keyof Tables
  /** The columns of the primary key. */
  readonly key: readonly string[]
  /** All with the same columns, as JSON: bytes are `bytea`. Columns that are left out are not written. */
  readonly rows: (resource: T) => readonly Row[]
}

type Row = Readonly<Record<string, unknown>>

/** Resources before and after a change. */
export type BeforeAndNext<T> = readonly [before: readonly T[], next: readonly T[]]

/** Writes the difference in two statements, and returns whether there is one. Deletions come first: what they free may be taken. */
export async function writeRows<T>(
  trx: Transaction<Tables>,
  { table, key, rows }: RowsOf<T>,
  [before, next]: BeforeAndNext<T>,
): Promise<boolean> {
  const identify = (row: Row): readonly [string, Row] => [JSON.stringify(key.map((column) => row[column])), row]
  const had = new Map(before.flatMap(rows).map(identify))
  const has = new Map(next.flatMap(rows).map(identify))
  const gone = [...had].flatMap(([id, row]) => (has.has(id) ? [] : [row]))
  const written = [...has].flatMap(([id, row]) => (JSON.stringify(had.get(id)) === JSON.stringify(row) ? [] : [row]))
  const keys = sql.join(key.map((column) => sql.ref(column)))
  // One parameter, because their number is limited. The table gives each column its type.
  const given = (all: readonly Row[]) =>
    sql`json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(all)}::json)`
  if (gone.length > 0) {
    await sql`delete from ${sql.table(table)} where (${keys}) in (select ${keys} from ${given(gone)})`.execute(trx)
  }
  if (written.length > 0) {
    const columns = Object.keys(written[0] ?? {})
    const names = sql.join(columns.map((column) => sql.ref(column)))
    const values = sql.join(columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`))
    await sql`
      insert into ${sql.table(table)} (${names}) select ${names} from ${given(written)}
      on conflict (${keys}) do update set ${values}`.execute(trx)
  }
  return gone.length + written.length > 0
}

/** Resources of which each was created (undefined before), changed, or deleted (null after). */
export function pairsOf<T>(
  changes: readonly (readonly [before: T | undefined, next: T | null])[],
): BeforeAndNext<NonNullable<T>> {
  return [changes.flatMap(([resource]) => resource ?? []), changes.flatMap(([, resource]) => resource ?? [])]
}

/** Bytes in JSON, as PostgreSQL reads them. */
export function bytea(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`
}

const ROWS_AT_ONCE = 1000

/** The rows in order, in chunks for one statement each. No rows: no chunks. */
export function* inChunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) yield rows.slice(start, start + ROWS_AT_ONCE)
}
