/**
 * Keeps an access token: gets it when it is first needed, renews it before it expires, and shares one request among all callers.
 *
 * There is no timer, so there is nothing to stop: a token that is due is renewed by the next call, which gets the old one meanwhile.
 */
import { isWithin, PLATFORM, type Runtime } from '@keyturn/verify/discovery'
import { createDpopProver, type DpopProver } from './dpop.ts'
import { TokenError } from './token-error.ts'
import { createTokenRequest, type TokenRequestOptions } from './token-request.ts'

export interface TokenSource {
  /**
   * A token that has not expired.
   *
   * @throws {TokenError} if there is none; the reason of `signal` if that is aborted. Other callers go on waiting.
   */
  token(options?: { readonly signal?: AbortSignal | undefined }): Promise<string>
  /**
   * Says that a token was refused, so that the next call gets another one. Honoured three times at once, and
   * then once in ten seconds: a service that refuses every token must not make every call a token request.
   */
  invalidate(token: string): void
  /** Makes the proofs that must go with the tokens. Undefined: they are bearer tokens. */
  readonly dpop?: DpopProver | undefined
}

interface HeldToken {
  readonly accessToken: string
  readonly requestedAt: number
  readonly renewAt: number
  readonly expiresAt: number
}

/** A token is renewed when between these shares of its lifetime have passed, so that replicas do not renew together. */
const RENEWAL = { earliest: 0.75, latest: 0.9 }
/** A token is not used for the last part of its lifetime: clocks differ, and a call takes time. */
const MARGIN = { share: 0.05, longestMillis: 10_000 }
const INVALIDATIONS = { burst: 3, refillMillis: 10_000 }
/** How long a failure is remembered, during which no request is sent. A `Retry-After` is followed up to the second limit. */
const PAUSE = { millis: 1_000, longestMillis: 60_000 }

/** Retries: the requests for one token, the first one included, and the time from the first to the last, in milliseconds. */
const RETRIES = { maxAttempts: 5, maxMillis: 30_000, firstWait: 250, longestWait: 8_000 }
/** The share by which a wait that the server named may be longer. */
const JITTER = 0.25

/**
 * A source of tokens for one client, scope and resource. Make one for each and keep it.
 *
 * @throws {TypeError} if an option is missing or has no valid value.
 */
export function createTokenSource(options: TokenRequestOptions, runtime: Runtime = PLATFORM): TokenSource {
  const { dpop = false } = options
  const prover = dpop === false ? undefined : createDpopProver(dpop === true ? undefined : dpop, runtime)
  const request = createTokenRequest(options, { runtime, prover })
  let held: HeldToken | undefined
  let renewal: Promise<HeldToken> | undefined
  let failure: { readonly error: unknown; readonly at: number; readonly pause: number } | undefined
  let invalidations = { left: INVALIDATIONS.burst, at: runtime.now() }

  const requestToken = async (): Promise<HeldToken> => {
    try {
      const { accessToken, lifetimeMillis, requestedAt } = await withRetries(request, runtime)
      const share = RENEWAL.earliest + (RENEWAL.latest - RENEWAL.earliest) * runtime.random()
      const margin = Math.min(lifetimeMillis * MARGIN.share, MARGIN.longestMillis)
      failure = undefined
      held = {
        accessToken,
        requestedAt,
        renewAt: requestedAt + lifetimeMillis * share,
        expiresAt: requestedAt + lifetimeMillis - margin,
      }
      return held
    } catch (error) {
      const asked = error instanceof TokenError ? error.retryAfterMillis : undefined
      const pause = Math.min(Math.max(asked ?? 0, PAUSE.millis), PAUSE.longestMillis)
      failure = { error, at: runtime.now(), pause }
      throw error
    } finally {
      renewal = undefined
    }
  }
  /** Request coalescing: callers share the request that is under way. */
  const renew = (): Promise<HeldToken> => {
    renewal ??= requestToken()
    return renewal
  }

  return {
    dpop: prover,
    token: async ({ signal } = {}) => {
      signal?.throwIfAborted()
      const now = runtime.now()
      // A clock that was set back makes the age of a token unknown.
      const isGood = held !== undefined && held.requestedAt <= now && now < held.expiresAt
      const usable = isGood ? held : undefined
      if (usable !== undefined && now < usable.renewAt) return usable.accessToken
      const isPaused = failure !== undefined && isWithin(failure.pause, failure.at, runtime)
      if (usable !== undefined) {
        // A failed renewal matters to a later caller, once the token has expired.
        if (!isPaused) renew().catch(() => undefined)
        return usable.accessToken
      }
      if (isPaused && renewal === undefined) throw failure?.error
      const { accessToken } = await unlessAborted(renew(), signal)
      return accessToken
    },
    invalidate: (token) => {
      const now = runtime.now()
      if (held?.accessToken !== token) return
      const refilled = Math.max(0, now - invalidations.at) / INVALIDATIONS.refillMillis
      const left = Math.min(INVALIDATIONS.burst, invalidations.left + refilled)
      if (left < 1) return
      invalidations = { left: left - 1, at: now }
      held = undefined
    },
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await promise
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/**
 * Runs an operation until it succeeds, is refused, or has failed too often or for too long. Waits as `Retry-After` says (RFC 9110 §10.2.3,
 * RFC 6585 §4), or with backoff and jitter. A longer `Retry-After` is left to the caller. The error is that of the last run.
 */
async function withRetries<T>(run: () => Promise<T>, runtime: Runtime): Promise<T> {
  const end = runtime.now() + RETRIES.maxMillis
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof TokenError) || error.code !== 'unavailable' || attempt === RETRIES.maxAttempts) throw error
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
  return Math.min(RETRIES.longestWait, RETRIES.firstWait * 2 ** attempt) * (0.5 + runtime.random() / 2)
}
