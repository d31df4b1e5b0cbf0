/**
 * The difference of two sets: the rows to delete and to insert.
 */

/** Delete first, then insert. */
export interface Difference<T> {
  readonly removed: readonly T[]
  readonly added: readonly T[]
}

/** Compares two sets. Items are equal if `identify` returns the same text for them. */
export function difference<T>(before: readonly T[], next: readonly T[], identify: (item: T) => string): Difference<T> {
  const had = byIdentity(before, identify)
  const has = byIdentity(next, identify)
  return {
    removed: [...had].filter(([identity]) => !has.has(identity)).map(([, item]) => item),
    added: [...has].filter(([identity]) => !had.has(identity)).map(([, item]) => item),
  }
}

function byIdentity<T>(items: readonly T[], identify: (item: T) => string): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [identify(item), item]))
}
