/**
 * Keeps this process's memory in step with the database.
 *
 * The version in the database is authoritative. It is compared once a second, after own writes, and at every hint of the change
 * feed. `staleness-guard.ts` decides how long the replica goes on without it.
 */

import { isSameRevision } from '../../domain/changes.ts'
import { DomainError, isOutage, onStandby } from '../../domain/errors.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { ChangeFeed, InstanceReader } from '../../domain/ports/instance.ts'
import type { SignerFactory } from '../../domain/ports/keys.ts'
import type { Log, Readiness } from '../../domain/ports/runtime.ts'
import { HEARTBEAT_SECONDS, MIN_STANDBY_STALENESS_SECONDS } from '../../domain/replicas.ts'
import type { Clock } from '../../domain/time.ts'
import { repeat } from '../concurrency/repeat.ts'
import { SingleFlight, Throttled } from '../concurrency/single-flight.ts'
import { LiveIdentities } from '../identities/live-identities.ts'
import { ClockOffset, DatabaseRole } from './database-facts.ts'
import { assertSameIssuer } from './issuer.ts'
import { type KeySnapshot, ReplicaMemory, type ReplicaState } from './replica-memory.ts'
import { StalenessGuard } from './staleness-guard.ts'
import { refuseUnreadableRows } from './unreadable-rows.ts'

/** How often versions are compared, in milliseconds, and the least number of comparisons within the greatest staleness. */
const COMPARE_EVERY = 1000
const COMPARISONS_WHILE_FRESH = 3

/** The rate limit of comparisons that callers cause, for example with a forged token, in milliseconds. */
const CONFIRM_EVERY = 100

/** How long an own change may take to be read back, in milliseconds: as long as it may wait for the lock. */
const OWN_CHANGE_WITHIN = 10_000
const NOT_IN_FORCE =
  'the change is stored, but this replica could not take it over in time: its log and /readyz say why'

export interface ReplicaOptions {
  readonly reader: InstanceReader
  readonly feed: ChangeFeed
  readonly signers: SignerFactory
  readonly clock: Clock
  readonly log: Log
  readonly issuer: string
  /** How many users may be read at the same time. Fewer than the reader has connections. */
  readonly maxReads?: number | undefined
  readonly maxUsers?: number | undefined
  readonly maxStalenessSeconds: number
  /** Where changes are made while the database is a standby, for those who are refused; null: that is not configured. Default null. */
  readonly primaryUrl?: string | null
}

export class Replica {
  readonly guard: StalenessGuard
  readonly identities: LiveIdentities
  readonly clockOffset: ClockOffset
  readonly #options: ReplicaOptions
  readonly #memory: ReplicaMemory
  readonly #role: DatabaseRole
  readonly #loads = new SingleFlight(() => this.#load())
  readonly #confirmations: Throttled
  #stopComparing = async () => {}
  #unsubscribe = async () => {}
  #stopped = false

  constructor(options: ReplicaOptions) {
    const { reader, clock, log } = options
    this.#options = options
    this.guard = new StalenessGuard(options)
    this.#role = new DatabaseRole(options)
    this.clockOffset = new ClockOffset(options)
    this.#confirmations = new Throttled({ clock, everyMilliseconds: CONFIRM_EVERY, run: () => this.refresh() })
    const { findServiceUser, findFederatedUsers } = reader
    const found = refuseUnreadableRows(clock, log)({ findServiceUser, findFederatedUsers })
    this.identities = new LiveIdentities({ ...options, reader: found, guard: this.guard })
    this.#memory = new ReplicaMemory({ ...options, identities: this.identities })
  }

  /**
   * Loads the state and starts following it.
   * @throws {DomainError} `storage_unavailable` if the first load fails, or what a standby has is too old.
   * @throws {Error} that says what to do, if the database is a standby and the greatest staleness too short for one.
   */
  async start(): Promise<void> {
    await this.refresh()
    this.#assertStalenessSuitsRole()
    const reason = this.#role.isStandby ? this.guard.whyNotReady() : undefined
    if (reason !== undefined) throw new DomainError('storage_unavailable', reason)
    const { feed, clock, maxStalenessSeconds } = this.#options
    this.#unsubscribe = feed.subscribe(() => void this.refreshOrLog())
    const everyMillis = Math.min(COMPARE_EVERY, (maxStalenessSeconds * 1000) / COMPARISONS_WHILE_FRESH)
    this.#stopComparing = repeat(() => this.refreshOrLog(), { clock, everyMillis, first: 'later' })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([this.#stopComparing(), this.#unsubscribe()])
    await this.#loads.settled()
  }

  /** What is in memory, whether it is fresh or not. */
  get state(): ReplicaState {
    return this.#memory.state
  }

  /** The newest key ring that this replica knows. @throws {DomainError} `storage_unavailable` if memory is not fresh. */
  keys(): KeySnapshot {
    this.guard.assertFresh()
    return this.state
  }

  trustedIssuers(): readonly TrustedIssuer[] {
    return this.guard.isFresh() ? this.state.trustedIssuers : []
  }

  /** Calls `listener` with each state that this replica takes over, until the returned function is called. */
  onChange(listener: (state: ReplicaState) => void): () => void {
    return this.#memory.subscribe(listener)
  }

  isStandby(): boolean {
    return this.#role.isStandby
  }

  /** Whether this replica can make changes, read them back, and have them dated right. All that changes the instance in the background asks this. */
  isWritable(): boolean {
    return this.guard.isFresh() && this.guard.isCurrent() && !this.#role.isStandby && this.clockOffset.isTolerable
  }

  /** @throws {DomainError} `primary_region`, `storage_unavailable`: the database was a standby at the last comparison. Every change of a caller asks this. */
  assertPrimary(): void {
    if (this.#role.isStandby) throw onStandby(this.#options.primaryUrl ?? null)
  }

  /** Whether tokens can be issued, and will be for longer than it takes to notice what is wrong. */
  readiness(): Readiness {
    const reason = this.guard.whyNotReady() ?? this.clockOffset.whyNotReady()
    if (reason !== undefined) return { ready: false, reason }
    if (this.state.signer === null)
      return { ready: false, reason: 'no web key is active, or the active one cannot be opened' }
    const standby = this.#role.isStandby ? { stalenessSeconds: this.guard.stalenessSeconds } : undefined
    const warnings = [...this.guard.warnings(), ...this.clockOffset.warnings()]
    return { ready: true, warnings, ...(standby === undefined ? {} : { standby }) }
  }

  /** Brings the memory up to a version that is not older than this call. @throws {DomainError} `storage_unavailable`. */
  refresh(): Promise<void> {
    return this.#loads.request()
  }

  /**
   * Like `refresh`, before a denial. Versions are compared ten times a second at most, however many calls there are.
   * @throws {DomainError} `storage_unavailable` if the newest state is not known.
   */
  async confirm(): Promise<void> {
    this.guard.assertReadable()
    await this.#confirmations.request().catch(() => {})
    this.guard.assertCurrent()
  }

  /**
   * Like `refresh`, after an own write, and again while the database cannot be read. What was created and is shown once is answered
   * with `refreshOrLog` instead.
   * @throws {DomainError} `change_not_in_force`: the write is stored, and this replica could not read it back in time.
   */
  async refreshAfterWrite(): Promise<void> {
    const { clock } = this.#options
    const until = clock.monotonic() + OWN_CHANGE_WITHIN
    for (;;) {
      try {
        return await this.refresh()
      } catch (cause) {
        this.#logFailure()
        if (!isOutage(cause) || clock.monotonic() >= until)
          throw new DomainError('change_not_in_force', NOT_IN_FORCE, { cause })
      }
      await new Promise<void>((resolve) => clock.after(CONFIRM_EVERY, resolve))
    }
  }

  /** The result of a change of this process, once this replica serves it. @throws {DomainError} like `refreshAfterWrite`. */
  async inForce<T>(change: Promise<T>): Promise<T> {
    const result = await change
    await this.refreshAfterWrite()
    return result
  }

  /** Like `refresh`, but only logs a failure: the next comparison may succeed. */
  async refreshOrLog(): Promise<void> {
    await this.refresh().catch(() => this.#logFailure())
  }

  async #load(): Promise<void> {
    const { reader, clock, issuer } = this.#options
    const at = clock.monotonic()
    let version: number | undefined
    let replayAge = 0
    try {
      const status = await reader.status()
      this.clockOffset.observe(status.clock.offsetSeconds)
      replayAge = this.#role.observe(status, at)
      assertSameIssuer(status.issuer, issuer)
      version = isSameRevision(status, this.state) ? undefined : status.version
      if (version !== undefined) await this.#memory.load()
    } catch (error) {
      this.guard.failed({ at, version, error })
      throw error
    }
    this.guard.confirmed(at, this.#role.isStandby ? replayAge : null)
  }

  #assertStalenessSuitsRole(): void {
    const { maxStalenessSeconds } = this.#options
    if (!this.#role.isStandby || maxStalenessSeconds >= MIN_STANDBY_STALENESS_SECONDS) return
    throw new Error(
      `the database is a standby, which knows how old it is by heartbeats of its primary every ${HEARTBEAT_SECONDS} s: ` +
        `KEYTURN_MAX_STALENESS must be at least ${MIN_STANDBY_STALENESS_SECONDS}, and is ${maxStalenessSeconds}`,
    )
  }

  #logFailure(): void {
    if (!this.#stopped) this.guard.logFailure()
  }
}
