/**
 * The keys of trusted issuers that this process has fetched, because a JWT needed them (decision 30).
 *
 * `jose` keeps a set, fetches it when it is old or a JWT names a key that is not in it, and makes one request at a time. What is added here:
 * while an issuer is away, its last good set is used up to the limit of the issuer, and without one the issuer is not asked for each JWT.
 */
import { type CompactVerifyGetKey, createRemoteJWKSet, customFetch } from 'jose'
import { LRUCache } from 'lru-cache'
import { DomainError } from '../domain/errors.ts'
import { type FetchedKeys, type IssuerKey, isSameSet, type KeySource } from '../domain/federation/issuer-keys.ts'
import type { FetchingIssuer } from '../domain/ports/federation.ts'
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

/** What the keys need. */
export interface FetchedIssuerKeysOptions {
  readonly fetch: FetchIssuerKeys
  readonly log: Log
  /** Called after each fetch. */
  readonly onFetch: (issuer: string, outcome: 'fetched' | 'failed') => void
  readonly timeoutMillis?: number
}

export class FetchedIssuerKeys {
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

  /** What is known of the keys of an issuer. */
  state(issuer: FetchingIssuer): FetchedKeys {
    return this.#of(issuer).state
  }

  /** Fetches the keys of an issuer: now, or if a JWT would have them fetched. `state` has what comes of it. */
  refresh(issuer: FetchingIssuer, when: 'now' | 'if due'): Promise<void> {
    const set = this.#of(issuer)
    return when === 'now' || set.isDue() ? set.refresh() : Promise.resolve()
  }

  /** With another source, or other authorities for it, an issuer has another set. */
  #of(issuer: FetchingIssuer): FetchedSet {
    const { kind, url, caCertificates, maxStalenessSeconds } = issuer.source
    const id = JSON.stringify([issuer.issuerId, kind, url, caCertificates])
    const set = this.#sets.get(id) ?? new FetchedSet(issuer, this.#options)
    this.#sets.set(id, set)
    set.maxStalenessSeconds = maxStalenessSeconds
    return set
  }
}

class FetchedSet {
  maxStalenessSeconds = 0
  readonly #issuer: string
  readonly #source: KeySource
  readonly #options: FetchedIssuerKeysOptions
  readonly #timeoutMillis: number
  readonly #set: ReturnType<typeof createRemoteJWKSet>
  readonly #waiting = new Semaphore({
    maxRunning: MAX_WAITING,
    maxWaiting: 0,
    refusal: () => this.#unavailable('too many requests are waiting for them'),
  })
  #good: { readonly keys: readonly IssuerKey[]; readonly at: number } | undefined
  #failure: { readonly reason: string; readonly at: number } | undefined

  constructor({ issuer, source }: FetchingIssuer, options: FetchedIssuerKeysOptions) {
    this.#issuer = issuer
    this.#source = source
    this.#options = options
    this.#timeoutMillis = options.timeoutMillis ?? TIMEOUT_MILLIS
    // `fetch` knows the address, which discovery names first.
    this.#set = createRemoteJWKSet(new URL('https://issuer.invalid'), {
      timeoutDuration: this.#timeoutMillis,
      cooldownDuration: COOLDOWN_MILLIS,
      cacheMaxAge: MAX_AGE_MILLIS,
      [customFetch]: (_url, { signal }) => this.#fetch(signal),
    })
  }

  readonly find: CompactVerifyGetKey = (header, jws) =>
    this.#waiting.run(async () => {
      if (!this.#isUsable()) {
        if (!this.isDue()) throw this.#unavailable(this.#failure?.reason)
        await this.#set.reload()
      }
      return await this.#set(header, jws)
    })

  async refresh(): Promise<void> {
    await this.#set.reload().catch(() => {})
  }

  isDue(): boolean {
    return this.#dueAt() <= Date.now()
  }

  get state(): FetchedKeys {
    const [good, failure] = [this.#good, this.#failure]
    return {
      keys: good?.keys ?? [],
      fetchedAt: good === undefined ? null : new Date(good.at),
      nextFetchAt: new Date(Math.max(this.#dueAt(), Date.now())),
      failure: failure === undefined ? null : { reason: failure.reason, at: new Date(failure.at) },
    }
  }

  #dueAt(): number {
    const triedAt = Math.max(this.#good?.at ?? 0, this.#failure?.at ?? 0)
    return triedAt + (this.#isUsable() ? MAX_AGE_MILLIS : COOLDOWN_MILLIS)
  }

  #isUsable(): boolean {
    return this.#good !== undefined && Date.now() < this.#good.at + this.maxStalenessSeconds * 1000
  }

  async #fetch(signal: AbortSignal): Promise<Response> {
    const { fetch, log, onFetch } = this.#options
    const issuer = this.#issuer
    try {
      const keys = await fetch(issuer, this.#source, signal)
      const isOther = this.#good === undefined || !isSameSet(this.#good.keys, keys)
      this.#good = { keys, at: Date.now() }
      this.#failure = undefined
      onFetch(issuer, 'fetched')
      if (isOther)
        log.info({ issuer, keyIds: keys.map(({ kid }) => kid) }, 'other keys of a trusted issuer were fetched')
    } catch (error) {
      const reason = this.#reasonOf(error, signal)
      this.#failure = { reason, at: Date.now() }
      onFetch(issuer, 'failed')
      log.warn({ issuer, reason }, 'the keys of a trusted issuer could not be fetched')
      if (!this.#isUsable()) throw this.#unavailable(reason)
    }
    return Response.json({ keys: this.#good?.keys })
  }

  #reasonOf(error: unknown, signal: AbortSignal): string {
    if (error instanceof FetchFailure) return error.message
    if (signal.aborted) return `no complete answer within ${this.#timeoutMillis / 1000} s`
    this.#options.log.error({ err: error }, 'fetching the keys of a trusted issuer failed unexpectedly')
    return 'an unexpected error, which is in the log of the server'
  }

  #unavailable(reason = ''): DomainError {
    return new DomainError(
      'trusted_issuer_unavailable',
      `the keys of the issuer ${this.#issuer} cannot be used: ${reason}`,
    )
  }
}
