/**
 * The staleness guard of a replica: whether what is in memory may still be served, and whether it is all that is known.
 *
 * Memory goes stale in three ways. If the database is out of reach, no change is known, and tokens go on for the configured time. If it is
 * a standby that does not hear of its primary, no change arrives either, and tokens go on for the same time.
 * If the database has a newer state that was not taken over, whatever the reason, memory is known to be out of date, and tokens go on
 * only for as long as it takes to notice.
 */
import { DomainError, UnreadableRow } from '../../domain/errors.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { OVERDUE_SECONDS } from '../../domain/replicas.ts'
import type { Clock } from '../../domain/time.ts'

/** How long tokens go on when a newer state was not taken over, in seconds: never longer than without the database. */
const OUTDATED_GRACE_SECONDS = 10

const STANDSTILL = 'the standby has received no heartbeat of a replica on its primary'

export interface StalenessGuardOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
  readonly maxStalenessSeconds: number
}

export interface FailedComparison {
  /** When it began, by the monotonic clock. */
  readonly at: number
  /** The version that the database has instead of the one in memory; undefined if it is not known to have another one. */
  readonly version: number | undefined
  readonly error: unknown
}

/** A newer state that was not taken over. */
interface Outdated {
  /** Since when that is known, by the monotonic clock. */
  readonly since: number
  /** Undefined if it could not be read. */
  readonly version: number | undefined
  readonly row: { readonly kind: UnreadableRow['kind'] | 'other'; readonly id: string }
}

export class StalenessGuard {
  readonly #options: StalenessGuardOptions
  #confirmedAt = Number.NEGATIVE_INFINITY
  #replayAgeSeconds: number | null = null
  #failure: unknown
  /** It stays known while the database is out of reach. */
  #outdated: Outdated | undefined
  /** Undefined if nothing was logged since the state was confirmed. */
  #throttle: LogThrottle | undefined

  constructor(options: StalenessGuardOptions) {
    this.#options = options
  }

  /**
   * Memory has what the database had.
   * @param at When the comparison began, by the monotonic clock.
   * @param replayAgeSeconds How old what the database has is at most. Default null: it is a primary, and has everything.
   */
  confirmed(at: number, replayAgeSeconds: number | null = null): void {
    this.#confirmedAt = at - (replayAgeSeconds ?? 0) * 1000
    this.#replayAgeSeconds = replayAgeSeconds
    this.#failure = undefined
    this.#outdated = undefined
    if (!this.isFresh()) {
      // On a primary the comparison itself took too long, and the next one is under way.
      if (replayAgeSeconds !== null)
        this.#warn(STANDSTILL, { replayAgeSeconds }, `${STANDSTILL}: the state of the instance is too old`)
    } else if (this.#throttle !== undefined) {
      this.#options.log.info({}, 'the state of the instance can be read again')
      this.#throttle = undefined
    }
  }

  failed({ at, version, error }: FailedComparison): void {
    this.#failure = error
    if (version === undefined && this.#unavailable !== undefined) return
    const { kind, id } = error instanceof UnreadableRow ? error : { kind: 'other' as const, id: '' }
    this.#outdated = {
      since: this.#outdated?.since ?? at,
      version: version ?? this.#outdated?.version,
      row: { kind, id },
    }
  }

  /** Logs the failure: when it begins, and each reason once a minute. */
  logFailure(): void {
    const { version, row } = this.#outdated ?? {}
    const facts = { err: this.#failure, advice: this.#unavailable?.forOperator, version, row }
    this.#warn(String(this.#failure), facts, 'the state of the instance could not be read')
  }

  get stalenessSeconds(): number {
    return this.#secondsSince(this.#confirmedAt)
  }

  /** How old what a standby had was at the last successful comparison; null: the database was a primary. */
  get replayAgeSeconds(): number | null {
    return this.#replayAgeSeconds
  }

  /** The row because of which a newer state cannot be taken over; undefined if there is none. */
  get unreadableRow(): Outdated['row'] | undefined {
    return this.#outdated?.row
  }

  isFresh(): boolean {
    return this.stalenessSeconds <= this.#options.maxStalenessSeconds && !this.#isOutdatedForTooLong()
  }

  /** Whether the database could be used at the last comparison. */
  isReachable(): boolean {
    return this.#unavailable === undefined
  }

  /** Whether memory had everything at the last comparison. */
  isCurrent(): boolean {
    return this.isReachable() && this.#outdated === undefined
  }

  /** @throws {DomainError} `storage_unavailable` if what is in memory must not be served. */
  assertFresh(): void {
    if (!this.isFresh())
      throw unavailable('the database has not confirmed what is known here for too long: try again later')
  }

  /** @throws {DomainError} `storage_unavailable` if a call to the database would only wait for the same failure. */
  assertReadable(): void {
    if (this.#unavailable !== undefined) throw unavailable(this.#unavailable.message)
    // What a primary answers is the newest state, what a standby answers is as old as its replay.
    if (this.#replayAgeSeconds !== null) this.assertFresh()
  }

  /** @throws {DomainError} `storage_unavailable` if the database cannot be used, or has what cannot be taken over. */
  assertCurrent(): void {
    this.assertReadable()
    const outdated = this.#whyOutdated()
    if (outdated !== undefined) throw unavailable(outdated)
  }

  /** Why this replica should not be used, in words that are safe to publish; undefined if it may be. */
  whyNotReady(): string | undefined {
    return this.#whyOutdated() ?? this.#whyStale()
  }

  /** What an operator should know while what is in memory may still be served. */
  warnings(): readonly string[] {
    const isStandstill = this.#replayAgeSeconds !== null && this.stalenessSeconds >= OVERDUE_SECONDS
    const goOn = `for ${this.#options.maxStalenessSeconds} s, of which ${Math.floor(this.stalenessSeconds)} s have passed`
    if (this.#why !== undefined) return [`${this.#why}: tokens go on from memory ${goOn}`]
    return isStandstill ? [`${STANDSTILL}: tokens go on ${goOn}`] : []
  }

  #warn(reason: string, facts: object, text: string): void {
    const { clock, log } = this.#options
    this.#throttle ??= new LogThrottle()
    if (this.#throttle.admits(reason, clock.monotonic())) log.warn(facts, text)
  }

  /** Undefined if the database could be used. */
  get #unavailable(): DomainError | undefined {
    const failure = this.#failure
    return failure instanceof DomainError && failure.code === 'storage_unavailable' ? failure : undefined
  }

  /** In words for the operator. */
  get #why(): string | undefined {
    return this.#unavailable?.forOperator ?? this.#unavailable?.message
  }

  #whyOutdated(): string | undefined {
    if (this.#outdated === undefined) return undefined
    const { version, since } = this.#outdated
    const what = version === undefined ? 'the state of the instance' : `version ${version} of the instance is known and`
    const tokens = `tokens go on for ${this.#graceSeconds} s, of which ${Math.floor(this.#secondsSince(since))} s have passed`
    return `${what} cannot be taken over, ${this.#why ?? 'the log says why'}: ${tokens}`
  }

  #whyStale(): string | undefined {
    const { maxStalenessSeconds } = this.#options
    if (this.stalenessSeconds <= maxStalenessSeconds) return undefined
    const age = Number.isFinite(this.#confirmedAt) ? `for ${Math.floor(this.stalenessSeconds)} s` : 'yet'
    const why = this.#why ?? (this.#replayAgeSeconds === null ? 'a comparison is under way' : STANDSTILL)
    return `the database has not confirmed the state of the instance ${age}, the limit is ${maxStalenessSeconds} s: ${why}`
  }

  #isOutdatedForTooLong(): boolean {
    return this.#outdated !== undefined && this.#secondsSince(this.#outdated.since) > this.#graceSeconds
  }

  get #graceSeconds(): number {
    return Math.min(OUTDATED_GRACE_SECONDS, this.#options.maxStalenessSeconds)
  }

  #secondsSince(at: number): number {
    return (this.#options.clock.monotonic() - at) / 1000
  }
}

function unavailable(message: string): DomainError {
  return new DomainError('storage_unavailable', message)
}
