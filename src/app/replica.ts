/**
 * Keeps this process's memory in step with the database.
 *
 * The truth is the version in the database, compared once a second, after every own write and at every hint of the
 * change feed. Without the database the replica goes on from memory, but not for ever.
 */
import { DomainError } from '../domain/errors.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import type { ChangeFeed, InstanceReader, Log, SignerFactory } from '../domain/ports.ts'
import type { ServiceUser } from '../domain/service-user.ts'
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
  readonly log: Log
  /** How long to go on without the database, in seconds. */
  readonly maxStalenessSeconds: number
}

/** Whether a replica can serve, and if not, why. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string }

export class Replica {
  readonly #options: ReplicaOptions
  readonly #keys: LiveKeyRing
  readonly #identities: LiveIdentities
  #version = -1
  #confirmedAt = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #stopped = false
  #cancelTimer = () => {}
  #unsubscribe = async () => {}

  constructor(options: ReplicaOptions) {
    this.#options = options
    this.#keys = new LiveKeyRing(options.signers, options.log)
    this.#identities = new LiveIdentities(options.reader)
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
    this.#assertFresh()
    return this.#keys.current
  }

  /**
   * A service user as this replica knows it.
   *
   * @throws {DomainError} `storage_unavailable` if that has not been confirmed for too long, or is not in memory and
   * cannot be read.
   */
  async findServiceUser(userId: string): Promise<ServiceUser | undefined> {
    this.#assertFresh()
    return this.#identities.find(userId)
  }

  /** Calls `listener` now and with each new key ring, until the returned function is called. */
  onKeys(listener: (snapshot: KeySnapshot) => void): () => void {
    return this.#keys.subscribe(listener)
  }

  /** What is in memory, however old it is. */
  status(): { readonly ring: KeyRing; readonly version: number; readonly stalenessSeconds: number } {
    const stalenessSeconds = (this.#options.clock.monotonic() - this.#confirmedAt) / 1000
    return { ring: this.#keys.current.ring, version: this.#version, stalenessSeconds }
  }

  /** How well the memory of service users does. */
  identityCounts(): IdentityCounts {
    return this.#identities.counts
  }

  /** Whether what this replica knows has been confirmed recently enough to be served. */
  isFresh(): boolean {
    return this.status().stalenessSeconds <= this.#options.maxStalenessSeconds
  }

  /** Whether tokens can be issued. */
  readiness(): Readiness {
    if (!this.isFresh()) return { ready: false, reason: 'the database has not been reached for too long' }
    if (this.#keys.current.signer === null)
      return { ready: false, reason: 'no web key is active, or the active one cannot be opened' }
    return { ready: true }
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
    const { reader, clock } = this.#options
    const startedAt = clock.monotonic()
    if ((await reader.version()) !== this.#version) {
      const userIds = this.#identities.cachedIds()
      const state = await reader.load(userIds)
      const snapshot = await this.#keys.prepare(state)
      // From here to the end nothing waits, so that nobody sees the keys of one version and the users of another.
      // The version comes last: what fails on the way is tried again.
      this.#identities.replace(state, userIds)
      this.#keys.publish(snapshot)
      this.#version = state.version
    }
    this.#confirmedAt = startedAt
  }

  async #refreshOrLog(): Promise<void> {
    try {
      await this.refresh()
    } catch (error) {
      if (!this.#stopped) this.#options.log.warn({ err: error }, 'the state of the instance could not be read')
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

  #assertFresh(): void {
    if (!this.isFresh()) {
      throw new DomainError('storage_unavailable', 'the database has not been reached for too long: try again later')
    }
  }
}
