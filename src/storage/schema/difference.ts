/** The rows of a change: the difference of two sets, in chunks, and parts of resources that are nothing but such sets. */
import { sql, type Transaction } from 'kysely'
import type { Tables } from './tables.ts'

/** Delete first, then insert. */
export interface Difference<T> {
  readonly removed: readonly T[]
  readonly added: readonly T[]
}

/** A resource before and after a change. Undefined: it is created. */
export type BeforeAndNext<T> = readonly [before: T | undefined, next: T]

/** Compares two sets. Items are equal if `identify` returns the same text for them. */
export function difference<T>(before: readonly T[], next: readonly T[], identify: (item: T) => string): Difference<T> {
  const had = byIdentity(before, identify)
  const has = byIdentity(next, identify)
  return {
    removed: [...had].filter(([identity]) => !has.has(identity)).map(([, item]) => item),
    added: [...has].filter(([identity]) => !had.has(identity)).map(([, item]) => item),
  }
}

/** The difference of the parts of resources, over all of them. `identify` must tell parts of two resources apart. */
export function differenceOfParts<T, Part>(
  pairs: readonly BeforeAndNext<T>[],
  partsOf: (resource: T) => readonly Part[],
  identify: (part: Part) => string,
): Difference<Part> {
  const before = pairs.flatMap(([resource]) => (resource === undefined ? [] : partsOf(resource)))
  const next = pairs.flatMap(([, resource]) => partsOf(resource))
  return difference(before, next, identify)
}

/** Parts of a resource in a table that has nothing but these columns, each with its type. */
export interface Parts<T> {
  readonly table: keyof Tables
  readonly columns: Readonly<Record<string, 'uuid' | 'text' | 'timestamptz'>>
  readonly rowsOf: (resource: T) => readonly (readonly string[])[]
}

/** Writes the difference of the parts, over all resources, and returns whether there is one. */
export async function writeParts<T>(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<T>[],
  { table, columns, rowsOf }: Parts<T>,
): Promise<boolean> {
  const { removed, added } = differenceOfParts(pairs, rowsOf, (row) => JSON.stringify(row))
  const names = sql.join(Object.keys(columns).map((name) => sql.ref(name)))
  const unnested = (rows: readonly (readonly string[])[]) => {
    const lists = Object.values(columns).map((type, index) => {
      return sql`${rows.map((row) => row[index])}::${sql.raw(type)}[]`
    })
    return sql`select * from unnest(${sql.join(lists)})`
  }
  if (removed.length > 0)
    await sql`delete from ${sql.table(table)} where (${names}) in (${unnested(removed)})`.execute(trx)
  if (added.length > 0) await sql`insert into ${sql.table(table)} (${names}) ${unnested(added)}`.execute(trx)
  return removed.length + added.length > 0
}

function byIdentity<T>(items: readonly T[], identify: (item: T) => string): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [identify(item), item]))
}

const ROWS_AT_ONCE = 1000

/** The rows in order, in chunks for one statement each. No rows: no chunks. */
export function* inChunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) yield rows.slice(start, start + ROWS_AT_ONCE)
}
