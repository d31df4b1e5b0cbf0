/**
 * The difference of two sets: the rows to delete and to insert.
 */

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

function byIdentity<T>(items: readonly T[], identify: (item: T) => string): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [identify(item), item]))
}
