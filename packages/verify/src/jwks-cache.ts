/**
 * The keys of an issuer: fetched when they are first needed, kept for as long as `Cache-Control` says, refreshed before that, and
 * fetched again for a `kid` that is not among them.
 */
import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWSHeaderParameters } from 'jose'
import { type FetchOptions, fetchJson, isWithin, type Runtime } from './discovery.ts'

export interface JwksCacheOptions extends FetchOptions {
  /** Finds the address. Called for each fetch. */
  readonly jwksUri: () => Promise<string>
  /** The longest time to keep a copy, whatever `Cache-Control` says: for that time a revoked key is trusted. */
  readonly maxAgeMillis: number
  /** From one fetch for an unknown `kid` to the next: anyone can send tokens with invented ones. */
  readonly cooldownMillis: number
}

/**
 * Finds the key of a token.
 *
 * @throws {errors.JOSEError} if the issuer has no such key. {@link KeysUnavailable}.
 */
export type KeyFinder = (header: JWSHeaderParameters) => Promise<CryptoKey>

/** There is no copy of the keys that is new enough, and none can be fetched. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

interface Copy {
  readonly find: ReturnType<typeof createLocalJWKSet>
  readonly keyIds: ReadonlySet<unknown>
  readonly fetchedAt: number
  readonly refreshAt: number
  readonly expiresAt: number
}

/** A copy is refreshed when between these shares of its time have passed, so that replicas do not fetch together. */
const REFRESH = { earliest: 0.5, latest: 0.8 }
/** For a server that says `max-age=0`. */
const SHORTEST_MILLIS = 1_000
const PAUSE_MILLIS = 1_000

/** A cache of one JWKS. Make one for each issuer and keep it. */
export function createJwksCache(options: JwksCacheOptions, runtime: Runtime): KeyFinder {
  let copy: Copy | undefined
  let fetching: Promise<Copy> | undefined
  let failure: { readonly error: KeysUnavailable; readonly at: number } | undefined

  const fetchCopy = async (): Promise<Copy> => {
    const startedAt = runtime.now()
    try {
      const { content, headers } = await fetchJson(await options.jwksUri(), options)
      const jwks = content as unknown as JSONWebKeySet
      const find = createLocalJWKSet(jwks)
      const time = Math.max(SHORTEST_MILLIS, Math.min(options.maxAgeMillis, freshnessMillis(headers) ?? Infinity))
      const share = REFRESH.earliest + (REFRESH.latest - REFRESH.earliest) * runtime.random()
      const keyIds = new Set(jwks.keys.map(({ kid }) => kid))
      failure = undefined
      copy = { find, keyIds, fetchedAt: startedAt, refreshAt: startedAt + time * share, expiresAt: startedAt + time }
      return copy
    } catch (cause) {
      const error = new KeysUnavailable('the keys of the issuer cannot be read', { cause })
      failure = { error, at: runtime.now() }
      throw error
    } finally {
      fetching = undefined
    }
  }
  /** Request coalescing, and no request at all for a moment after a failure. */
  const refresh = async (): Promise<Copy> => {
    if (fetching === undefined && failure !== undefined && isWithin(PAUSE_MILLIS, failure.at, runtime))
      throw failure.error
    fetching ??= fetchCopy()
    return await fetching
  }
  const freshCopy = async (): Promise<Copy> => {
    const now = runtime.now()
    // A clock that was set back makes the age of a copy unknown.
    if (copy === undefined || now >= copy.expiresAt || now < copy.fetchedAt) return await refresh()
    if (now >= copy.refreshAt) refresh().catch(() => undefined)
    return copy
  }

  return async (header) => {
    const current = await freshCopy()
    if (current.keyIds.has(header.kid)) return await current.find(header)
    if (runtime.now() - current.fetchedAt < options.cooldownMillis) throw new errors.JWKSNoMatchingKey()
    return await (await refresh()).find(header)
  }
}

/** For how long a response may still be reused (RFC 9111 §4.2); undefined if it does not say. */
function freshnessMillis(headers: Headers): number | undefined {
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,9})\b/i.exec(headers.get('cache-control') ?? '')?.[1]
  if (maxAge === undefined) return undefined
  const age = /^\d{1,9}$/.exec(headers.get('age') ?? '')?.[0] ?? '0'
  return (Number(maxAge) - Number(age)) * 1000
}
