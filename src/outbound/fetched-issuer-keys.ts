/**
 * The keys of trusted issuers that this process has fetched, because a JWT needed them (decision 30).
 *
 * `jose` keeps a set, fetches it when it is old or a JWT names a key that is not in it, and makes one request at a time. What is added here:
 * while an issuer is away, its last good set is used up to the limit of the issuer, and without one the issuer is not asked for each JWT.
 */
import { type CompactVerifyGetKey, createRemoteJWKSet, customFetch } from 'jose'
import { LRUCache } from 'lru-cache'
import { DomainError } from '../domain/errors.ts'
import { type FetchedKeys, type IssuerKey, isSameSet } from '../domain/federation/trusted-issuer.ts'
import type { FetchingIssuer, IssuerKeyFetches } from '../domain/ports/federation.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { Semaphore } from '../domain/semaphore.ts'
import { FetchFailure } from './https-request.ts'
import type { FetchIssuerKeys } from './issuer-key-fetch.ts'

/** Twice as many as there can be issuers: a source that was changed leaves a set that is not used any more. */
const MAX_SETS = 100
/** How many JWTs of an issuer wait for a fetch. */
const MAX_WAITING = 1000

/** For all of a fetch: names, connections, and each byte of the documents. */
const TIMEOUT_MILLIS = 5000
/** From then on a JWT has the keys fetched again. A key that the issuer withdrew is trusted for so long. */
const MAX_AGE_MILLIS = 300_000
/** From one fetch to one for a key that is not known, or after a failure. Anyone can send JWTs with invented keys. */
const COOLDOWN_MILLIS = 30_000

export interface FetchedIssuerKeysOptions {
  readonly fetch: FetchIssuerKeys
  readonly log: Log
  readonly onFetch: (issuer: string, outcome: 'fetched' | 'failed') => void
  readonly timeoutMillis?: number
}

export class FetchedIssuerKeys implements IssuerKeyFetches {
  readonly #sets = new LRUCache<string, FetchedSet>({ max: MAX_SETS })
  readonly #options: FetchedIssuerKeysOptions

  constructor(options: FetchedIssuerKeysOptions) {
    this.#options = options
  }

  /**
   * What finds the key of a JWT, for `jose`.
   *
   * @throws {DomainError} from the returned function, `trusted_issuer_unavailable`: there are no keys that may be used, and none can be fetched.
   */
  finderOf(issuer: FetchingIssuer): CompactVerifyGetKey {
    return this.#of(issuer).find
  }

  state(issuer: FetchingIssuer): FetchedKeys {
    return this.#of(issuer).state()
  }

  async refresh(issuer: FetchingIssuer, when: 'now' | 'if due'): Promise<void> {
    const set = this.#of(issuer)
    if (when === 'now' || set.isDue()) await set.reload().catch(() => {})
  }

  /** With another source an issuer has another set. */
  #of(issuer: FetchingIssuer): FetchedSet {
    const id = JSON.stringify([issuer.issuerId, issuer.source])
    const set = this.#sets.get(id) ?? createFetchedSet(issuer, this.#options)
    this.#sets.set(id, set)
    return set
  }
}

type FetchedSet = ReturnType<typeof createFetchedSet>

function createFetchedSet(
  { issuer, source }: FetchingIssuer,
  { fetch, log, onFetch, timeoutMillis = TIMEOUT_MILLIS }: FetchedIssuerKeysOptions,
) {
  let good: { readonly keys: readonly IssuerKey[]; readonly at: number } | undefined
  let failure: { readonly reason: string; readonly at: number } | undefined

  const unavailable = (reason = '') =>
    new DomainError('trusted_issuer_unavailable', `the keys of the issuer ${issuer} cannot be used: ${reason}`)
  const isUsable = () => good !== undefined && Date.now() < good.at + source.maxStalenessSeconds * 1000
  const dueAt = () => Math.max(good?.at ?? 0, failure?.at ?? 0) + (isUsable() ? MAX_AGE_MILLIS : COOLDOWN_MILLIS)
  const isDue = () => dueAt() <= Date.now()
  const reasonOf = (error: unknown, signal: AbortSignal): string => {
    if (error instanceof FetchFailure) return error.message
    if (signal.aborted) return `no complete answer within ${timeoutMillis / 1000} s`
    log.error({ err: error }, 'fetching the keys of a trusted issuer failed unexpectedly')
    return 'an unexpected error, which is in the log of the server'
  }
  // `fetch` knows the address, which discovery names first.
  const set = createRemoteJWKSet(new URL('https://issuer.invalid'), {
    timeoutDuration: timeoutMillis,
    cooldownDuration: COOLDOWN_MILLIS,
    cacheMaxAge: MAX_AGE_MILLIS,
    [customFetch]: async (_url, { signal }) => {
      try {
        const keys = await fetch(issuer, source, signal)
        if (good === undefined || !isSameSet(good.keys, keys))
          log.info({ issuer, keyIds: keys.map(({ kid }) => kid) }, 'other keys of a trusted issuer were fetched')
        good = { keys, at: Date.now() }
        failure = undefined
        onFetch(issuer, 'fetched')
      } catch (error) {
        const reason = reasonOf(error, signal)
        failure = { reason, at: Date.now() }
        onFetch(issuer, 'failed')
        log.warn({ issuer, reason }, 'the keys of a trusted issuer could not be fetched')
        if (!isUsable()) throw unavailable(reason)
      }
      return Response.json({ keys: good?.keys })
    },
  })
  const waiting = new Semaphore({
    maxRunning: MAX_WAITING,
    maxWaiting: 0,
    refusal: () => unavailable('too many requests are waiting for them'),
  })
  const find: CompactVerifyGetKey = (header, jws) =>
    waiting.run(async () => {
      if (!isUsable()) {
        if (!isDue()) throw unavailable(failure?.reason)
        await set.reload()
      }
      return await set(header, jws)
    })
  const state = (): FetchedKeys => ({
    keys: good?.keys ?? [],
    fetchedAt: good === undefined ? null : new Date(good.at),
    nextFetchAt: new Date(Math.max(dueAt(), Date.now())),
    failure: failure === undefined ? null : { reason: failure.reason, at: new Date(failure.at) },
  })
  return { find, isDue, reload: () => set.reload(), state }
}
