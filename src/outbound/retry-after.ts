/**
 * How long a server asks to be left alone (`Retry-After`, RFC 9110 §10.2.3).
 */
import type { IncomingHttpHeaders } from 'node:http'

/** In seconds, 0 or more. Undefined: the response does not say, or not in a way that can be read. @param now In milliseconds since 1970. */
export function retryAfterSeconds(headers: IncomingHttpHeaders, now: number): number | undefined {
  const text = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  // `Date.parse` takes much that is no date of HTTP (RFC 9110 §5.6.7), such as `-5`.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
