/**
 * Fetches the keys of trusted issuers in the background, ahead of their end, and when a JWT names one that is not known. No request waits
 * for it.
 *
 * Every replica runs a refresher, and none is the leader. A fetch is claimed under the lock of the instance, so that there is one at a time
 * for each issuer; the others learn its outcome from the database. While that is out of reach, nothing is fetched. On a standby nothing is
 * fetched either, but what the servers on the primary record is read.
 */
import { DomainError, isOutage } from '../../domain/errors.ts'
import {
  beginFetch,
  endFetch,
  type FetchedKeys,
  type FetchResult,
  isFetchDue,
  isSameSource,
  type KeyFetchOutcome,
  type KeySource,
  releaseFetch,
} from '../../domain/federation/issuer-keys.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import { type ChangeEntry, SYSTEM } from '../../domain/identities/authority.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { IssuerKeyStore } from '../../domain/ports/federation.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { trustedIssuerResource } from '../audit/audit-resources.ts'
import type { Replica } from '../replica/replica.ts'

/** How often the refresher looks for a fetch that is due, in milliseconds. It looks at memory only. */
const LOOK_EVERY = 1000

/**
 * How often a replica that cannot record a fetch reads, at most, what others have recorded about an issuer, in milliseconds. Without a
 * limit it would read each second while nothing is fetched, as when no server runs on the primary.
 */
const READ_EVERY = 10_000

/** Fetches the keys of issuers from where they publish them. `outbound/` implements it. */
interface IssuerKeyFetcher {
  /** Takes seconds at most. @param signal Aborts it. */
  fetch(issuer: string, source: KeySource, signal: AbortSignal): Promise<KeyFetchOutcome>
}

/** What a refresher is made of. */
export interface IssuerKeyRefresherOptions {
  readonly store: IssuerKeyStore
  readonly fetcher: IssuerKeyFetcher
  readonly replica: Pick<
    Replica,
    'isFresh' | 'isReachable' | 'isWritable' | 'trustedIssuers' | 'noteKeyFetch' | 'refreshOrLog'
  >
  readonly clock: Clock
  /** The time of the instance. */
  readonly now: () => Date
  /** A new random UUID. */
  readonly newId: () => string
  readonly log: Log
}

/** An issuer whose keys are fetched. */
type FetchingIssuer = TrustedIssuer & { readonly keys: FetchedKeys }

/** The state of fetching for the metrics. */
export interface IssuerKeyStatus {
  /** Fetches of this process, by outcome. */
  readonly fetches: Readonly<Record<FetchResult['kind'], number>>
  readonly issuers: readonly {
    readonly issuer: string
    /** Since the last fetch that succeeded; since the issuer is trusted if there was none. */
    readonly ageSeconds: number
    readonly maxStalenessSeconds: number
  }[]
}

interface RunningFetch {
  /** What is fetched, as far as is known: the claim has the newest. */
  source: KeySource
  readonly aborting: AbortController
  done: Promise<void>
}

export class IssuerKeyRefresher {
  readonly #options: IssuerKeyRefresherOptions
  readonly #throttle = new LogThrottle()
  readonly #running = new Map<string, RunningFetch>()
  /** Issuers that a JWT came from whose key is not known, and when. */
  readonly #wanted = new Map<string, Date>()
  /** When each issuer was last read without being fetched, by the monotonic clock. */
  readonly #readAt = new Map<string, number>()
  readonly #fetches = { changed: 0, unchanged: 0, failed: 0 }
  #cancel = () => {}
  #stopped = false

  constructor(options: IssuerKeyRefresherOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancel = this.#options.clock.after(LOOK_EVERY, () => {
      this.#look()
      if (!this.#stopped) this.start()
    })
  }

  /** Aborts the fetches under way, and begins no more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    for (const { aborting } of this.#running.values()) aborting.abort()
    await this.settled()
  }

  /** Waits until no fetch is under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  /** Has the keys of a trusted issuer fetched before their time, because a JWT may be by one that is not known: after the cooldown. */
  want(issuerId: string): void {
    if (!this.#wanted.has(issuerId)) this.#wanted.set(issuerId, this.#options.now())
  }

  get status(): IssuerKeyStatus {
    const now = this.#options.now().getTime()
    const issuers = this.#issuers().map(({ issuer, createdAt, keys: { fetch, source } }) => {
      const ageSeconds = Math.max(0, (now - (fetch.fetchedAt ?? createdAt).getTime()) / 1000)
      return { issuer, ageSeconds, maxStalenessSeconds: source.maxStalenessSeconds }
    })
    return { fetches: { ...this.#fetches }, issuers }
  }

  #look(): void {
    const { replica, now } = this.#options
    if (!replica.isFresh() || !replica.isReachable()) return
    const issuers = new Map(this.#issuers().map((issuer) => [issuer.issuerId, issuer]))
    for (const [issuerId, { source, aborting }] of this.#running) {
      const known = issuers.get(issuerId)
      if (known === undefined || !isSameSource(known.keys.source, source)) aborting.abort()
    }
    for (const known of [this.#wanted, this.#readAt])
      for (const issuerId of known.keys()) if (!issuers.has(issuerId)) known.delete(issuerId)
    for (const issuer of issuers.values()) {
      if (this.#running.has(issuer.issuerId)) continue
      if (replica.isWritable() ? this.#looksDue(issuer, now()) : this.#isReadDue(issuer, now())) this.#begin(issuer)
    }
  }

  #issuers(): readonly FetchingIssuer[] {
    return this.#options.replica.trustedIssuers().filter(isFetching)
  }

  /** By what is in memory, where the lease of another replica stays that has long recorded that nothing changed: the claim has the newest. */
  #looksDue({ issuerId, keys }: FetchingIssuer, now: Date): boolean {
    const isWanted = this.#isWanted(issuerId, keys)
    if (!isWanted) this.#wanted.delete(issuerId)
    return isFetchDue(isWanted ? { ...keys, fetch: { ...keys.fetch, lease: null } } : keys, { now, isWanted })
  }

  /** On a replica that cannot record a fetch: whether another one may have since this one last read. */
  #isReadDue({ issuerId, keys }: FetchingIssuer, now: Date): boolean {
    const readAt = this.#readAt.get(issuerId)
    if (readAt !== undefined && this.#options.clock.monotonic() < readAt + READ_EVERY) return false
    // The end of a fetch that was under way is no version of the instance.
    return keys.fetch.lease !== null || isFetchDue(keys, { now, isWanted: false })
  }

  /** A fetch that began later has what there was then. */
  #isWanted(issuerId: string, { fetch: { attemptedAt } }: FetchedKeys): boolean {
    const wantedAt = this.#wanted.get(issuerId)
    return wantedAt !== undefined && (attemptedAt === null || attemptedAt <= wantedAt)
  }

  #isDue({ issuerId, keys }: Pick<FetchingIssuer, 'issuerId' | 'keys'>, now: Date): boolean {
    return isFetchDue(keys, { now, isWanted: this.#isWanted(issuerId, keys) })
  }

  #begin(issuer: FetchingIssuer): void {
    const { issuerId, keys } = issuer
    const running: RunningFetch = { source: keys.source, aborting: new AbortController(), done: Promise.resolve() }
    this.#running.set(issuerId, running)
    running.done = this.#run(issuerId, running)
      .catch((error: unknown) => this.#warn(issuer, error))
      .finally(() => this.#running.delete(issuerId))
  }

  async #run(issuerId: string, running: RunningFetch): Promise<void> {
    const { signal } = running.aborting
    const lease = this.#options.newId()
    const claimed = await this.#claim(issuerId, lease)
    if (claimed === undefined) return
    running.source = claimed.keys.source
    const outcome = await this.#fetch(claimed, signal)
    // What was fetched for an issuer that is not trusted any more is not stored.
    if (signal.aborted) await this.#release(issuerId, lease)
    else await this.#record(claimed, lease, outcome)
  }

  /** The issuer, if this process is to fetch its keys. Undefined: another one has done so, does, or has to. */
  async #claim(issuerId: string, lease: string): Promise<FetchingIssuer | undefined> {
    const { store, replica, clock, now } = this.#options
    if (!replica.isWritable()) this.#readAt.set(issuerId, clock.monotonic())
    const found = await store.find(issuerId)
    // Without the lock: most replicas find that another one was faster.
    if (found === undefined || !isFetching(found)) return undefined
    replica.noteKeyFetch(found)
    if (!replica.isWritable() || !this.#isDue(found, now())) return undefined
    const claimed = await store.update(entryOf(issuerId), issuerId, (keys) => {
      const next = this.#isDue({ issuerId, keys }, now()) ? beginFetch(keys, lease, now()) : keys
      return { next, isChange: false }
    })
    if (claimed === undefined || !isFetching(claimed)) return undefined
    replica.noteKeyFetch(claimed)
    return claimed.keys.fetch.lease === lease ? claimed : undefined
  }

  async #fetch({ issuer, keys }: FetchingIssuer, signal: AbortSignal): Promise<KeyFetchOutcome> {
    const { fetcher, log } = this.#options
    try {
      return await fetcher.fetch(issuer, keys.source, signal)
    } catch (error) {
      log.error({ err: error, issuer }, 'fetching the keys of a trusted issuer failed unexpectedly')
      return { kind: 'failed', reason: 'an unexpected error, which is in the log of the server' }
    }
  }

  /** So that another replica need not wait until the lease ends. */
  async #release(issuerId: string, lease: string): Promise<void> {
    const { store, now } = this.#options
    await store.update(entryOf(issuerId), issuerId, (keys) => ({
      next: keys.fetch.lease === lease ? releaseFetch(keys, now()) : keys,
      isChange: false,
    }))
  }

  async #record(claimed: FetchingIssuer, lease: string, outcome: KeyFetchOutcome): Promise<void> {
    const { store, replica, now } = this.#options
    const { issuerId } = claimed
    const random = Math.random()
    let result: FetchResult | undefined
    const recorded = await store.update(entryOf(issuerId), issuerId, (keys) => {
      result = keys.fetch.lease === lease ? endFetch(keys, outcome, { now: now(), random }) : undefined
      return { next: result?.next ?? keys, isChange: result?.kind === 'changed' }
    })
    if (result === undefined || recorded === undefined || !isFetching(recorded)) return
    this.#fetches[result.kind] += 1
    if (result.kind === 'changed') await replica.refreshOrLog()
    else replica.noteKeyFetch(recorded)
    this.#report(claimed, recorded, result.kind)
  }

  #report(before: FetchingIssuer, { issuer, keys }: FetchingIssuer, kind: FetchResult['kind']): void {
    const { log, clock } = this.#options
    const { failure, failures } = keys.fetch
    const reason = failure?.reason
    if (kind === 'failed') {
      if (this.#throttle.admits(`${issuer} ${reason}`, clock.monotonic()))
        log.warn({ issuer, reason, failures }, 'the keys of a trusted issuer could not be fetched')
      return
    }
    if (before.keys.fetch.failures > 0) log.info({ issuer }, 'the keys of a trusted issuer can be fetched again')
    if (kind === 'changed')
      log.info({ issuer, keyIds: keys.keys.map(({ kid }) => kid) }, 'the keys of a trusted issuer have changed')
  }

  #warn({ issuer }: FetchingIssuer, error: unknown): void {
    const { log, clock } = this.#options
    if (this.#stopped || (error instanceof DomainError && isOutage(error))) return
    if (this.#throttle.admits(`${issuer} ${String(error)}`, clock.monotonic()))
      log.warn({ err: error, issuer }, 'the fetch of the keys of a trusted issuer could not be recorded')
  }
}

/** The audit event of keys that have changed. */
function entryOf(issuerId: string): ChangeEntry {
  return { ...SYSTEM, action: 'federation/fetch_keys', resource: trustedIssuerResource(issuerId) }
}

function isFetching(issuer: TrustedIssuer): issuer is FetchingIssuer {
  return issuer.keys.kind === 'fetched'
}
