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
  readonly row: Pick<UnreadableRow, 'id'> & { readonly kind: UnreadableRow['kind'] | 'other' }
}

const STANDSTILL = 'the standby has received no heartbeat of a replica on its primary'

const NO_SINGLE_ROW = { kind: 'other', id: '' } as const

export class StalenessGuard {
  readonly #options: StalenessGuardOptions
  #confirmedAt = Number.NEGATIVE_INFINITY
  /** Of the last successful comparison. */
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
   *
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
      if (replayAgeSeconds !== null) this.#logStandstill()
    } else if (this.#throttle !== undefined) {
      this.#options.log.info({}, 'the state of the instance can be read again')
      this.#throttle = undefined
    }
  }

  failed({ at, version, error }: FailedComparison): void {
    this.#failure = error
    if (version === undefined && unavailability(error) !== undefined) return
    const row = error instanceof UnreadableRow ? { kind: error.kind, id: error.id } : NO_SINGLE_ROW
    this.#outdated = { since: this.#outdated?.since ?? at, version: version ?? this.#outdated?.version, row }
  }

  /** Logs the failure: when it begins, and each reason once a minute. */
  logFailure(): void {
    const { clock, log } = this.#options
    this.#throttle ??= new LogThrottle()
    if (!this.#throttle.admits(String(this.#failure), clock.monotonic())) return
    const advice = unavailability(this.#failure)?.forOperator
    const facts = { err: this.#failure, advice, version: this.#outdated?.version, row: this.#outdated?.row }
    log.warn(facts, 'the state of the instance could not be read')
  }

  /** Of a comparison that succeeded. */
  #logStandstill(): void {
    const { clock, log } = this.#options
    this.#throttle ??= new LogThrottle()
    if (!this.#throttle.admits(STANDSTILL, clock.monotonic())) return
    log.warn({ replayAgeSeconds: this.#replayAgeSeconds }, `${STANDSTILL}: the state of the instance is too old`)
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

  /** Whether what is in memory may be served. */
  isFresh(): boolean {
    return this.stalenessSeconds <= this.#options.maxStalenessSeconds && !this.#isOutdatedForTooLong()
  }

  /** Whether the database could be used at the last comparison. */
  isReachable(): boolean {
    return unavailability(this.#failure) === undefined
  }

  /** Whether memory had everything at the last comparison. */
  isCurrent(): boolean {
    return this.isReachable() && this.#outdated === undefined
  }

  /** @throws {DomainError} `storage_unavailable` if what is in memory must not be served. */
  assertFresh(): void {
    if (!this.isFresh()) {
      throw new DomainError(
        'storage_unavailable',
        'the database has not confirmed what is known here for too long: try again later',
      )
    }
  }

  /** @throws {DomainError} `storage_unavailable` if a call to the database would only wait for the same failure. */
  assertReachable(): void {
    const unavailable = unavailability(this.#failure)
    if (unavailable !== undefined) throw new DomainError('storage_unavailable', unavailable.message)
    // What a primary answers is the newest state, what a standby answers is as old as its replay.
    if (this.#replayAgeSeconds !== null) this.assertFresh()
  }

  /** @throws {DomainError} `storage_unavailable` if the database cannot be used, or has what cannot be taken over. */
  assertCurrent(): void {
    this.assertReachable()
    const outdated = this.#whyOutdated()
    if (outdated !== undefined) throw new DomainError('storage_unavailable', outdated)
  }

  /** Why this replica should not be used, in words that are safe to publish; undefined if it may be. */
  whyNotReady(): string | undefined {
    return this.#whyOutdated() ?? this.#whyStale()
  }

  /** What an operator should know while what is in memory may still be served. */
  warnings(): readonly string[] {
    const unavailable = unavailability(this.#failure)
    const { maxStalenessSeconds } = this.#options
    const passed = Math.floor(this.stalenessSeconds)
    if (unavailable === undefined) {
      if (this.#replayAgeSeconds === null || this.stalenessSeconds < OVERDUE_SECONDS) return []
      return [`${STANDSTILL}: tokens go on for ${maxStalenessSeconds} s, of which ${passed} s have passed`]
    }
    return [
      `${forOperator(unavailable)}: tokens go on from memory for ${maxStalenessSeconds} s, of which ${passed} s have passed`,
    ]
  }

  #whyOutdated(): string | undefined {
    if (this.#outdated === undefined) return undefined
    const { version, since } = this.#outdated
    const what = version === undefined ? 'the state of the instance' : `version ${version} of the instance is known and`
    const seconds = Math.floor(this.#secondsSince(since))
    const why = forOperator(unavailability(this.#failure)) ?? 'the log says why'
    const tokens = `tokens go on for ${this.#graceSeconds} s, of which ${seconds} s have passed`
    return `${what} cannot be taken over, ${why}: ${tokens}`
  }

  #whyStale(): string | undefined {
    const { maxStalenessSeconds } = this.#options
    if (this.stalenessSeconds <= maxStalenessSeconds) return undefined
    const age = Number.isFinite(this.#confirmedAt) ? `for ${Math.floor(this.stalenessSeconds)} s` : 'yet'
    const underWay = this.#replayAgeSeconds === null ? 'a comparison is under way' : STANDSTILL
    const why = forOperator(unavailability(this.#failure)) ?? underWay
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

function forOperator(error: DomainError | undefined): string | undefined {
  return error?.forOperator ?? error?.message
}

function unavailability(failure: unknown): DomainError | undefined {
  return failure instanceof DomainError && failure.code === 'storage_unavailable' ? failure : undefined
}
