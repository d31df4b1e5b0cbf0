/**
 * What has to be written so that a set in the database becomes another.
 */

/** What to delete first, and what to insert then. */
export interface Difference<T> {
  readonly removed: readonly T[]
  readonly added: readonly T[]
}

/** Compares two sets. Items are the same if `identify` says the same of them. */
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
