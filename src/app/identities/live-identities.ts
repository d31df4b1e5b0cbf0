/**
 * The service users that this replica needs, in memory, each as of the newest version that the replica knows. What was read of another
 * version is not kept: one that is newer may never become that of the replica, because a fail-over lost it.
 *
 * A user is read from the database at its first use, after a change that may concern it, and before a denial. Unknown user ids are not
 * cached, because a denial reads the database anyway.
 */
import { LRUCache } from 'lru-cache'
import { databaseBusy } from '../../domain/errors.ts'
import { type IdentityChanges, isChanged } from '../../domain/identities/changed-users.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { InstanceReader, InstanceState } from '../../domain/ports/instance.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { SingleFlightByKey } from '../replica/single-flight.ts'

const DEFAULT_CAPACITY = 10_000

/** How many users are read again after a change, so that it takes a bounded time until the change is in force. */
const MAX_READ_AGAIN = 10_000

/** The semaphore of reads: how many run at the same time by default, and how many wait in each queue. */
const DEFAULT_MAX_READS = 4
const MAX_WAITING = 1000

/** The limits of the cache and of its reads. */
export interface IdentitiesLimits {
  /** The greatest number of users in memory. Default 10 000. */
  readonly capacity?: number | undefined
  /** How many users may be read at the same time. Default 4. */
  readonly maxReads?: number | undefined
}

interface Entry {
  user: ServiceUser
}

/** The counters of the cache. */
export interface IdentityCounts {
  /** Look-ups answered from memory. */
  readonly hits: number
  /** Look-ups that had to wait for the database. */
  readonly misses: number
  readonly users: number
}

export class LiveIdentities {
  readonly #reader: Pick<InstanceReader, 'findServiceUser'>
  readonly #users: LRUCache<string, Entry>
  /** Forged client IDs must not take every database connection. */
  readonly #semaphore: Semaphore
  readonly #named = new SingleFlightByKey((userId) => this.#semaphore.run(() => this.#read(userId)))
  /** Separate from `#named` also for the same user, because that read may have to wait. */
  readonly #proved = new SingleFlightByKey((userId) => this.#semaphore.runFirst(() => this.#read(userId)))
  #version = -1
  /** How often a state did not continue the one before, as far as is known. */
  #breaks = 0
  #hits = 0
  #misses = 0

  constructor(reader: Pick<InstanceReader, 'findServiceUser'>, limits: IdentitiesLimits = {}) {
    const { capacity = DEFAULT_CAPACITY, maxReads = DEFAULT_MAX_READS } = limits
    this.#reader = reader
    this.#semaphore = new Semaphore({ maxRunning: maxReads, maxWaiting: MAX_WAITING, refusal: databaseBusy })
    this.#users = new LRUCache({ max: capacity })
  }

  /**
   * The user with this id, or undefined if there is none, for callers who have proved to be this user. They go before the callers
   * of `read`.
   *
   * @throws {DomainError} `storage_unavailable` if the user is not in memory and the database cannot be reached, or is
   * asked for too many users already.
   */
  async find(userId: string): Promise<ServiceUser | undefined> {
    return this.recall(userId) ?? (await this.#request(this.#proved, userId))
  }

  /**
   * The user with this id as the database has it after this call, for requests that only name the user. Concurrent reads of a user
   * are a single flight.
   *
   * @throws {DomainError} `storage_unavailable` like `find`.
   */
  read(userId: string): Promise<ServiceUser | undefined> {
    return this.#request(this.#named, userId)
  }

  /** The user with this id, if it is in memory. A miss is not counted. */
  recall(userId: string): ServiceUser | undefined {
    const known = this.#users.get(userId)
    if (known !== undefined) this.#hits++
    return known?.user
  }

  /** Since the start, and now. */
  get counts(): IdentityCounts {
    return { hits: this.#hits, misses: this.#misses, users: this.#users.size }
  }

  /** The ids to ask for in the state that `replace` takes next: those that may have changed, the ones used last if there are many. */
  idsToRead(changes: IdentityChanges): string[] {
    return this.#changed(changes)
      .slice(0, MAX_READ_AGAIN)
      .map(([userId]) => userId)
  }

  /**
   * Takes over another state, which was loaded with `idsToRead`. Users who may have changed and are not in it are forgotten.
   */
  replace({
    version,
    users,
    changes,
  }: Pick<InstanceState, 'version' | 'users'> & { readonly changes: IdentityChanges }): void {
    this.#version = version
    if (changes.kind === 'any') this.#breaks += 1
    for (const [userId, entry] of this.#changed(changes)) {
      const user = users.get(userId)
      // In place, because this is no use of the entry.
      if (user !== undefined) entry.user = user
      else this.#users.delete(userId)
    }
  }

  /** Marks what is in memory as up to date at a version that this process has made, and that changed no user. */
  advance(version: number): void {
    this.#version = version
  }

  /** The users in memory that may have changed, the one used last first. Finding them is no use of them. */
  #changed(changes: IdentityChanges): [string, Entry][] {
    if (changes.kind === 'some' && changes.projectIds.size === 0) {
      return [...changes.userIds].flatMap((userId) => {
        const entry = this.#users.peek(userId)
        return entry === undefined ? [] : [[userId, entry]]
      })
    }
    return [...this.#users.entries()].filter(([, { user }]) => isChanged(user, changes))
  }

  #request(reads: SingleFlightByKey<ServiceUser | undefined>, userId: string): Promise<ServiceUser | undefined> {
    this.#misses++
    return reads.request(userId)
  }

  async #read(userId: string): Promise<ServiceUser | undefined> {
    const breaks = this.#breaks
    const { version, user } = await this.#reader.findServiceUser(userId)
    // An answer that is older than memory may lack a change.
    if (version < this.#version || breaks !== this.#breaks) return user
    if (user === undefined || version > this.#version) this.#users.delete(userId)
    else this.#users.set(userId, { user })
    return user
  }
}
