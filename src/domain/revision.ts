/**
 * The revision of an instance: which change it is at. The version alone does not identify a change, because the same number
 * can come back after a fail-over that lost changes.
 */

/** A change of the instance. */
export interface Revision {
  /** Counts the changes. It grows, except after a fail-over to a server that lacks the last ones. */
  readonly version: number
  /** When the change was made, by the database's clock. Null if none has been made since that is stored. */
  readonly changedAt: Date | null
}

/** Whether two are the same change. */
export function isSameRevision(a: Revision, b: Revision): boolean {
  return a.version === b.version && a.changedAt?.getTime() === b.changedAt?.getTime()
}
