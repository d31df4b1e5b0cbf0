/**
 * For how long a response may be reused (RFC 9111 §4.2).
 */
import type { IncomingHttpHeaders } from 'node:http'

/** In seconds, 0 or more. Null: the response does not say. @param now In milliseconds since 1970. */
export function freshSeconds(headers: IncomingHttpHeaders, now: number): number | null {
  const { 'cache-control': control = '', age, expires, date } = headers
  if (/(?:^|[\s,])no-(?:store|cache)\b/i.test(control)) return 0
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,9})\b/i.exec(control)?.[1]
  if (maxAge !== undefined) return Math.max(0, Number(maxAge) - (/^\d{1,9}$/.test(age ?? '') ? Number(age) : 0))
  if (expires === undefined) return null
  const end = Date.parse(expires)
  const begin = Date.parse(date ?? '')
  // An invalid date, such as 0, means that it has expired (RFC 9111 §5.3).
  return Number.isNaN(end) ? 0 : Math.max(0, (end - (Number.isNaN(begin) ? now : begin)) / 1000)
}
