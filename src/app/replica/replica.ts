/**
 * Keeps this process's memory in step with the database.
 *
 * The truth is the version in the database, compared once a second, after every own write and at every hint of the
 * change feed. How long the replica goes on without that is the matter of `staleness-guard.ts`.
 */
import { DomainError } from '../../domain/errors.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { KeyRing } from '../../domain/keys/key-ring.ts'
import type { Rotation } from '../../domain/keys/rotation.ts'
import { DEFAULT_ROTATION_POLICY } from '../../domain/keys/rotation-policy.ts'
import type { ChangeFeed, InstanceReader, Log, Readiness, SignerFactory, StoredKeyChange } from '../../domain/ports.ts'
import { isSameRevision, type Revision } from '../../domain/revision.ts'
import { type IdentityCounts, LiveIdentities } from '../identities/live-identities.ts'
import { type KeySnapshot, LiveKeyRing } from '../keys/live-key-ring.ts'
import { ChangeLag } from './change-lag.ts'
import type { InstanceClock } from './instance-clock.ts'
import { assertSameIssuer } from './issuer.ts'
import { SingleFlight, Throttled } from './single-flight.ts'
import { StalenessGuard } from './staleness-guard.ts'
import { UnreadableRows } from './unreadable-rows.ts'
import { VersionPoller } from './version-poller.ts'

/** How often callers can make it be compared, in milliseconds: a made-up token does. */
const CONFIRM_EVERY = 100
const NOT_IN_FORCE = 'the change is stored, but this replica could not take it over: its log and /readyz say why'

/** Time as a replica measures it. */
export interface Clock {
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number
  /** Calls back once after so many milliseconds, unless the returned function is called before. */
  after(milliseconds: number, callback: () => void): () => void
}

/** What a replica is made of. */
export interface ReplicaOptions {
  readonly reader: InstanceReader
  readonly feed: ChangeFeed
  readonly signers: SignerFactory
  readonly clock: Clock
  /** Is kept right by the readings that come with each comparison. */
  readonly time: Pick<InstanceClock, 'adjust'>
  readonly log: Log
  /** The issuer of this replica. */
  readonly issuer: string
  /** How many users may be read at the same time. Fewer than the reader has connections. */
  readonly maxReads?: number | undefined
  /** How long to go on without the database, in seconds. */
  readonly maxStalenessSeconds: number
}

const GONE_BACK = 'the database has gone back, as after a fail-over that lost changes: its state is taken over'

/** What holds before anything is known: nothing is to be done. */
const NO_ROTATION: Rotation = { policy: { ...DEFAULT_ROTATION_POLICY, enabled: false }, requestedAt: null }

/** What is in memory, however old it is. */
export interface ReplicaStatus {
  readonly ring: KeyRing
  readonly rotation: Rotation
  readonly version: number
  /** How long ago the database confirmed it. */
  readonly stalenessSeconds: number
  /** How long the last change of another process took to get here, at most. Null: there has been none. */
  readonly lagSeconds: number | null
  /** The row because of which a newer version cannot be taken over; undefined if there is none. */
  readonly unreadableRow: StalenessGuard['unreadableRow']
}

export class Replica {
  readonly #options: ReplicaOptions
  readonly #keys: LiveKeyRing
  readonly #identities: LiveIdentities
  readonly #guard: StalenessGuard
  readonly #loads = new SingleFlight(() => this.#load())
  readonly #confirmations: Throttled
  readonly #loop: VersionPoller
  readonly #lag = new ChangeLag()
  #rotation = NO_ROTATION
  #known: Revision = { version: -1, changedAt: null }

  constructor(options: ReplicaOptions) {
    const { reader, feed, signers, clock, log, maxReads, maxStalenessSeconds } = options
    this.#options = options
    this.#guard = new StalenessGuard(options)
    this.#confirmations = new Throttled({ clock, everyMilliseconds: CONFIRM_EVERY, run: () => this.refresh() })
    this.#loop = new VersionPoller({ feed, clock, maxStalenessSeconds, compare: () => this.refreshOrLog() })
    this.#keys = new LiveKeyRing(signers, log)
    const rows = new UnreadableRows(options)
    const findServiceUser: InstanceReader['findServiceUser'] = async (userId) => {
      this.#guard.assertReachable()
      return rows.refuse(() => reader.findServiceUser(userId))
    }
    this.#identities = new LiveIdentities({ findServiceUser }, { maxReads })
  }

  /**
   * Loads the state and starts following it.
   *
   * @throws {DomainError} `storage_unavailable` if the first load fails.
   */
  async start(): Promise<void> {
    await this.refresh()
    this.#loop.start()
  }

  /** Stops following. What is under way is awaited. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#loads.settled()
  }

  /**
   * The newest key ring that this replica knows.
   *
   * @throws {DomainError} `storage_unavailable` if it has not been confirmed for too long.
   */
  keys(): KeySnapshot {
    this.#guard.assertFresh()
    return this.#keys.current
  }

  /**
   * A service user as this replica knows it.
   *
   * @throws {DomainError} `storage_unavailable` if that has not been confirmed for too long, or is not in memory and
   * cannot be read.
   */
  async findServiceUser(userId: string): Promise<ServiceUser | undefined> {
    this.#guard.assertFresh()
    return this.#identities.find(userId)
  }

  /**
   * A service user as the database has it now, by which anything must be denied: what is not in memory may have been made
   * elsewhere a moment ago. It takes as long for a user in memory as for one who does not exist.
   *
   * @throws {DomainError} `storage_unavailable` if it cannot be read.
   */
  async readServiceUser(userId: string): Promise<ServiceUser | undefined> {
    this.#guard.assertFresh()
    return this.#identities.read(userId)
  }

  /** A service user, if it is in memory and that may still be served. */
  recallServiceUser(userId: string): ServiceUser | undefined {
    return this.#guard.isFresh() ? this.#identities.recall(userId) : undefined
  }

  /** Calls `listener` now and with each new key ring, until the returned function is called. */
  onKeys(listener: (snapshot: KeySnapshot) => void): () => void {
    return this.#keys.subscribe(listener)
  }

  /** Calls `listener` with the lag of each change, in seconds, until the returned function is called. */
  onLag(listener: (lagSeconds: number) => void): () => void {
    return this.#lag.subscribe(listener)
  }

  /** How long ago the database confirmed what is in memory. */
  get stalenessSeconds(): number {
    return this.#guard.stalenessSeconds
  }

  status(): ReplicaStatus {
    const { ring } = this.#keys.current
    const { stalenessSeconds, unreadableRow } = this.#guard
    const lagSeconds = this.#lag.seconds
    return { ring, rotation: this.#rotation, version: this.#known.version, stalenessSeconds, lagSeconds, unreadableRow }
  }

  /** How well the memory of service users does. */
  identityCounts(): IdentityCounts {
    return this.#identities.counts
  }

  /** Whether what this replica knows has been confirmed recently enough to be served. */
  isFresh(): boolean {
    return this.#guard.isFresh()
  }

  /** Whether the database could be used the last time that versions were compared. */
  isReachable(): boolean {
    return this.#guard.isReachable()
  }

  /** Whether, the last time that versions were compared, all that was in the database was taken over. */
  isCurrent(): boolean {
    return this.#guard.isCurrent()
  }

  /** @throws {DomainError} `storage_unavailable` at once, where a call to the database would only wait for it. */
  assertReachable(): void {
    this.#guard.assertReachable()
  }

  /** @throws {DomainError} `storage_unavailable` unless this replica can make changes and see what comes of them. */
  assertCurrent(): void {
    this.#guard.assertCurrent()
  }

  /** Whether tokens can be issued, and will be for longer than it takes to notice what is wrong. */
  readiness(): Readiness {
    const reason = this.#guard.whyNotReady()
    if (reason !== undefined) return { ready: false, reason }
    if (this.#keys.current.signer === null)
      return { ready: false, reason: 'no web key is active, or the active one cannot be opened' }
    return { ready: true, warnings: this.#guard.warnings() }
  }

  /**
   * Brings the memory up to a version that is not older than this call.
   *
   * @throws {DomainError} `storage_unavailable`.
   */
  refresh(): Promise<void> {
    return this.#loads.request()
  }

  /**
   * Like `refresh`, for what something is about to be denied by. However many ask for it, versions are compared ten times a
   * second at most.
   *
   * @throws {DomainError} `storage_unavailable` if the newest state is not known.
   */
  async confirm(): Promise<void> {
    this.#guard.assertReachable()
    await this.#confirmations.request().catch(() => {})
    this.#guard.assertCurrent()
  }

  /**
   * Like `refresh`, after an own write.
   *
   * @throws {DomainError} `change_not_in_force`: the write is done and this replica does not know what came of it.
   */
  async refreshAfterWrite(): Promise<void> {
    try {
      await this.refresh()
    } catch (cause) {
      this.#tell()
      throw new DomainError('change_not_in_force', NOT_IN_FORCE, { cause })
    }
  }

  /**
   * Serves a change of the keys that this process has made. Nothing is read again if memory has the revision on which the change
   * was decided.
   *
   * @param sealed The sealed private key that is active now, by key id, if the change has activated it.
   * @throws {DomainError} `change_not_in_force` like `refreshAfterWrite`.
   */
  async takeOverOwnChange(change: StoredKeyChange<unknown>, sealed?: ReadonlyMap<string, string>): Promise<void> {
    if (!(await this.#adopt(change, sealed))) await this.refreshAfterWrite()
  }

  /** Like `takeOverOwnChange`, where a failure is for the log. */
  async takeOverOwnChangeOrLog(change: StoredKeyChange<unknown>, sealed?: ReadonlyMap<string, string>): Promise<void> {
    if (!(await this.#adopt(change, sealed))) await this.refreshOrLog()
  }

  /** Like `refresh`, where a failure is for the log: the next comparison may succeed. */
  async refreshOrLog(): Promise<void> {
    await this.refresh().catch(() => this.#tell())
  }

  async #load(): Promise<void> {
    const { reader, clock, time, issuer } = this.#options
    const at = clock.monotonic()
    let version: number | undefined
    try {
      const status = await reader.status()
      time.adjust(status.clock)
      assertSameIssuer(status.issuer, issuer)
      version = isSameRevision(status, this.#known) ? undefined : status.version
      if (version !== undefined) await this.#takeOver()
    } catch (error) {
      this.#guard.failed({ at, version, error })
      throw error
    }
    this.#guard.confirmed(at)
  }

  async #takeOver(): Promise<void> {
    const { reader, clock, log } = this.#options
    const before = this.#known
    const userIds = this.#identities.cachedIds()
    const startedAt = clock.monotonic()
    const state = await reader.load(userIds)
    const snapshot = await this.#keys.prepare(state)
    // `#adopt` has taken over a newer state in the meantime.
    if (this.#known !== before && state.version <= this.#known.version) return
    if (state.version <= before.version && !isSameRevision(state, before))
      log.warn({ before: before.version, now: state.version }, GONE_BACK)
    // Synchronous from here, so that no request sees the keys of one version and the users of another.
    // The revision comes last, so that a failure on the way is tried again.
    this.#identities.replace(state, userIds)
    this.#keys.publish(snapshot)
    this.#rotation = state.rotation
    this.#known = { version: state.version, changedAt: state.changedAt }
    if (before.version < 0 || state.changedAt === null) return
    this.#lag.note(state.changedAt, state.clock.databaseTime, clock.monotonic() - startedAt)
  }

  /** Whether memory has the change now: not if another change came in between. */
  async #adopt(
    { ring, rotation, before, after }: StoredKeyChange<unknown>,
    sealed: ReadonlyMap<string, string> = new Map(),
  ): Promise<boolean> {
    if (!this.#guard.isCurrent() || !isSameRevision(before, this.#known)) return isSameRevision(after, this.#known)
    const snapshot = await this.#keys.prepareOwn(ring, sealed)
    if (snapshot === undefined || !isSameRevision(before, this.#known)) return isSameRevision(after, this.#known)
    // Synchronous from here, as in `#takeOver`.
    this.#identities.advance(after.version)
    this.#keys.publish(snapshot)
    this.#rotation = rotation
    this.#known = after
    return true
  }

  #tell(): void {
    if (!this.#loop.isStopped) this.#guard.tell()
  }
}
