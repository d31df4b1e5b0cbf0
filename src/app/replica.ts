/**
 * Keeps this process's memory in step with the database.
 *
 * The truth is the version in the database, compared once a second, after every own write and at every hint of the
 * change feed. Without the database the replica goes on from memory, but not for ever.
 */
import { DomainError } from '../domain/errors.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import type { ChangeFeed, InstanceReader, InstanceStatus, Log, SignerFactory } from '../domain/ports.ts'
import type { Rotation } from '../domain/rotation.ts'
import { DEFAULT_ROTATION_POLICY } from '../domain/rotation-policy.ts'
import type { ServiceUser } from '../domain/service-user.ts'
import { DatabaseContact } from './database-contact.ts'
import type { InstanceClock } from './instance-clock.ts'
import { type IdentityCounts, LiveIdentities } from './live-identities.ts'
import { type KeySnapshot, LiveKeyRing } from './live-key-ring.ts'

/** How often the version is compared, in milliseconds. */
const COMPARE_EVERY = 1000

/** The version is compared at least so many times before what is in memory is too old. */
const COMPARISONS_WHILE_FRESH = 3

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

/** What holds before anything is known: nothing is to be done. */
const NO_ROTATION: Rotation = { policy: { ...DEFAULT_ROTATION_POLICY, enabled: false }, requestedAt: null }

/** Whether a replica can serve, and what its operator should know all the same; if not, why. */
export type Readiness =
  | { readonly ready: true; readonly warnings: readonly string[] }
  | { readonly ready: false; readonly reason: string }

/** What is in memory, however old it is. */
export interface ReplicaStatus {
  readonly ring: KeyRing
  readonly rotation: Rotation
  readonly version: number
  /** How long ago the database confirmed it. */
  readonly stalenessSeconds: number
  /** How long the last change of another process took to get here, at most. Null: there has been none. */
  readonly lagSeconds: number | null
}

/** A change as it is named: the number alone can come back after a fail-over. */
type ChangeName = Pick<InstanceStatus, 'version' | 'changedAt'>

export class Replica {
  readonly #options: ReplicaOptions
  readonly #keys: LiveKeyRing
  readonly #identities: LiveIdentities
  readonly #contact: DatabaseContact
  readonly #lagListeners = new Set<(lagSeconds: number) => void>()
  #rotation = NO_ROTATION
  #known: ChangeName = { version: -1, changedAt: null }
  #lagSeconds: number | null = null
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #stopped = false
  #cancelTimer = () => {}
  #unsubscribe = async () => {}

  constructor(options: ReplicaOptions) {
    const { reader, signers, log, maxReads } = options
    this.#options = options
    this.#contact = new DatabaseContact(options)
    this.#keys = new LiveKeyRing(signers, log)
    const findServiceUser: InstanceReader['findServiceUser'] = async (userId) => {
      this.#contact.assertReachable()
      return reader.findServiceUser(userId)
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
    this.#unsubscribe = this.#options.feed.subscribe(() => void this.#refreshOrLog())
    this.#schedule()
  }

  /** Stops following. What is under way is awaited. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#unsubscribe()
    await Promise.allSettled([this.#running, this.#next])
  }

  /**
   * The newest key ring that this replica knows.
   *
   * @throws {DomainError} `storage_unavailable` if it has not been confirmed for too long.
   */
  keys(): KeySnapshot {
    this.#contact.assertFresh()
    return this.#keys.current
  }

  /**
   * A service user as this replica knows it.
   *
   * @throws {DomainError} `storage_unavailable` if that has not been confirmed for too long, or is not in memory and
   * cannot be read.
   */
  async findServiceUser(userId: string): Promise<ServiceUser | undefined> {
    this.#contact.assertFresh()
    return this.#identities.find(userId)
  }

  /** A service user, if it is in memory and that may still be served. */
  recallServiceUser(userId: string): ServiceUser | undefined {
    return this.#contact.isFresh() ? this.#identities.recall(userId) : undefined
  }

  /** Calls `listener` now and with each new key ring, until the returned function is called. */
  onKeys(listener: (snapshot: KeySnapshot) => void): () => void {
    return this.#keys.subscribe(listener)
  }

  /** Calls `listener` with the lag of each change that is taken over, in seconds, until the returned function is called. */
  onLag(listener: (lagSeconds: number) => void): () => void {
    this.#lagListeners.add(listener)
    return () => this.#lagListeners.delete(listener)
  }

  /** How long ago the database confirmed what is in memory. */
  get stalenessSeconds(): number {
    return this.#contact.stalenessSeconds
  }

  status(): ReplicaStatus {
    const { stalenessSeconds } = this
    return {
      ring: this.#keys.current.ring,
      rotation: this.#rotation,
      version: this.#known.version,
      stalenessSeconds,
      lagSeconds: this.#lagSeconds,
    }
  }

  /** How well the memory of service users does. */
  identityCounts(): IdentityCounts {
    return this.#identities.counts
  }

  /** Whether what this replica knows has been confirmed recently enough to be served. */
  isFresh(): boolean {
    return this.#contact.isFresh()
  }

  /** Whether the database could be used the last time that versions were compared. */
  isReachable(): boolean {
    return this.#contact.isReachable()
  }

  /** @throws {DomainError} `storage_unavailable` at once, where a call to the database would only wait for it. */
  assertReachable(): void {
    this.#contact.assertReachable()
  }

  /** Whether tokens can be issued. */
  readiness(): Readiness {
    if (!this.isFresh()) return { ready: false, reason: this.#contact.whyStale() }
    if (this.#keys.current.signer === null)
      return { ready: false, reason: 'no web key is active, or the active one cannot be opened' }
    return { ready: true, warnings: this.#contact.warnings() }
  }

  /**
   * Brings the memory up to a version that is not older than this call.
   *
   * @throws {DomainError} `storage_unavailable`.
   */
  refresh(): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#load().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    // The load under way may have read before the change that the caller wants to see.
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.refresh()
      })
    return this.#next
  }

  /** Like `refresh` after an own write: the write is done, so a failure is only logged. */
  async refreshAfterWrite(): Promise<void> {
    await this.#refreshOrLog()
  }

  async #load(): Promise<void> {
    const { reader, clock, time } = this.#options
    const startedAt = clock.monotonic()
    try {
      const status = await reader.status()
      time.adjust(status.clock)
      this.#assertSameIssuer(status)
      if (!isSame(status, this.#known)) await this.#takeOver()
    } catch (error) {
      this.#contact.failed(error)
      throw error
    }
    this.#contact.confirmed(startedAt)
  }

  /** Another one has been stored on purpose since this replica was started: two must not issue tokens for long. */
  #assertSameIssuer({ issuer: stored }: InstanceStatus): void {
    if (stored === null || stored === this.#options.issuer) return
    throw new DomainError(
      'storage_unavailable',
      `the issuer of the instance has been changed to ${stored}: start this server again with KEYTURN_BASE_URL=${stored}`,
    )
  }

  async #takeOver(): Promise<void> {
    const { reader, clock, log } = this.#options
    const before = this.#known
    const userIds = this.#identities.cachedIds()
    const startedAt = clock.monotonic()
    const state = await reader.load(userIds)
    const snapshot = await this.#keys.prepare(state)
    if (state.version <= before.version && !isSame(state, before)) {
      const facts = { before: before.version, now: state.version }
      log.warn(facts, 'the database has gone back, as after a fail-over that lost changes: its state is taken over')
    }
    // From here to the end nothing waits, so that nobody sees the keys of one version and the users of another.
    // The version comes last: what fails on the way is tried again.
    this.#identities.replace(state, userIds)
    this.#keys.publish(snapshot)
    this.#rotation = state.rotation
    this.#known = { version: state.version, changedAt: state.changedAt }
    if (before.version < 0 || state.changedAt === null) return
    // By the clock of the database up to its reading, and by a clock that only measures from there.
    const atReading = state.clock.databaseTime.getTime() - state.changedAt.getTime()
    this.#noteLag(Math.max(0, atReading + clock.monotonic() - startedAt) / 1000)
  }

  #noteLag(lagSeconds: number): void {
    this.#lagSeconds = lagSeconds
    for (const listener of this.#lagListeners) listener(lagSeconds)
  }

  async #refreshOrLog(): Promise<void> {
    try {
      await this.refresh()
    } catch {
      if (!this.#stopped) this.#contact.tell()
    }
  }

  #schedule(): void {
    if (this.#stopped) return
    const { clock, maxStalenessSeconds } = this.#options
    const wait = Math.min(COMPARE_EVERY, (maxStalenessSeconds * 1000) / COMPARISONS_WHILE_FRESH)
    this.#cancelTimer = clock.after(wait, () => {
      void this.#refreshOrLog().then(() => this.#schedule())
    })
  }
}

function isSame(a: ChangeName, b: ChangeName): boolean {
  return a.version === b.version && a.changedAt?.getTime() === b.changedAt?.getTime()
}
