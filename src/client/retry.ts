/**
 * Retries of token requests: after 503 and 429, as `Retry-After` says (RFC 9110 §10.2.3, RFC 6585 §4), after any other failure of a server,
 * and when there is no response. Each wait has jitter, and their number and sum are bounded.
 */
import type { Runtime } from '../discovery/runtime.ts'
import { TokenError } from './token-error.ts'

/** Requests for one token, the first one included. */
const MAX_ATTEMPTS = 5
/** From the first request to the last, in milliseconds. A longer `Retry-After` is left to the caller. */
const MAX_RETRY_MILLIS = 30_000

const FIRST_WAIT = 250
const LONGEST_WAIT = 8_000
/** The share by which a wait that the server named may be longer. */
const JITTER = 0.25

/**
 * Runs an operation until it succeeds, is refused, or has failed too often or for too long. The error is that of the last run.
 */
export async function withRetries<T>(run: () => Promise<T>, runtime: Runtime): Promise<T> {
  const end = runtime.now() + MAX_RETRY_MILLIS
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof TokenError) || error.code !== 'unavailable' || attempt === MAX_ATTEMPTS) throw error
      const wait = waitAfter(attempt, error.retryAfterMillis, runtime)
      if (runtime.now() + wait > end) throw error
      await runtime.wait(wait)
    }
  }
}

/** A wait of our own is shortened by up to half. A wait that the server asked for is never shortened. */
function waitAfter(attempt: number, retryAfterMillis: number | undefined, runtime: Runtime): number {
  if (retryAfterMillis !== undefined)
    return retryAfterMillis + Math.max(retryAfterMillis, 1000) * JITTER * runtime.random()
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt) * (0.5 + runtime.random() / 2)
}

/** The value of `Retry-After`, seconds or a date, in milliseconds from now; undefined if it is missing or neither. */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  const text = value?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // `Date.parse` takes much that is no date of HTTP (RFC 9110 §5.6.7), such as `-5`.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
