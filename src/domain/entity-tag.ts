/**
 * The comparison of entity tags of conditional requests (RFC 9110 §13.1.2).
 */

/** Whether the client's copy is current. @param etag The strong entity tag of what would be sent. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  // GET compares weakly: `W/"x"` matches `"x"`.
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
