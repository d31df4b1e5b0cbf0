/** Posts events to receivers of webhooks. Of what they answer, the status decides and `Retry-After` counts: the body is not looked at. */
import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type DeliveryOutcome, outcomeOf } from '../domain/events/delivery.ts'
import type { Webhook } from '../domain/events/webhook.ts'
import { FetchFailure, type SendHttps } from './https-request.ts'

/** For names, the connection, the request and the response. Standard Webhooks recommends 15 to 30 s. */
const TIMEOUT_MILLIS = 15_000

export function createWebhookSender(send: SendHttps, timeoutMillis = TIMEOUT_MILLIS) {
  return {
    /** Takes seconds at most. @param stop Aborts it. @throws The reason of that signal. */
    post: async (
      { url, caCertificates }: Pick<Webhook, 'url' | 'caCertificates'>,
      { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
      stop: AbortSignal,
    ): Promise<DeliveryOutcome> => {
      const timeout = AbortSignal.timeout(timeoutMillis)
      try {
        const signal = AbortSignal.any([stop, timeout])
        const response = await send(url, { method: 'POST', headers, body, caCertificates, signal })
        // The rest is read, within the bounds of a connection. What goes wrong in it does not matter: the status has come.
        await buffer(response).catch(() => {})
        return outcomeOf(response.statusCode ?? 0, retryAfterSeconds(response.headers, Date.now()))
      } catch (error) {
        stop.throwIfAborted()
        if (timeout.aborted) return { kind: 'unavailable', reason: `gives no answer within ${timeoutMillis / 1000} s` }
        if (error instanceof FetchFailure) return { kind: 'unavailable', reason: error.message }
        throw error
      }
    },
  }
}

/** `Retry-After` (RFC 9110 §10.2.3) in seconds, 0 or more. Undefined: the response does not say, or not in a way that can be read. @param now In milliseconds since 1970. */
function retryAfterSeconds(headers: IncomingHttpHeaders, now: number): number | undefined {
  const text = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  // `Date.parse` takes much that is no date of HTTP (RFC 9110 §5.6.7), such as `-5`.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
