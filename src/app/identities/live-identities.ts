/**
 * The service users that this replica needs, in memory, each as of the revision that the replica knows, or of a newer one.
 *
 * A user who is read for a request may be of a newer revision than memory. It is kept apart until a comparison has confirmed it, because
 * a fail-over can lose that revision, and then no change would name the user.
 *
 * A user is read from the database at its first use, after a change that may concern it, and before a denial. Unknown user ids are not
 * cached, because a denial reads the database anyway.
 */
import { databaseBusy } from '../../domain/errors.ts'
import type { IdentityChanges } from '../../domain/identities/changed-users.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { InstanceReader, InstanceState } from '../../domain/ports/instance.ts'
import { isSameRevision, type Revision } from '../../domain/revision.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { SingleFlightByKey } from '../replica/single-flight.ts'
import { UserCache } from './user-cache.ts'

const DEFAULT_CAPACITY = 10_000

/** How many users are read again after a change, so that it takes a bounded time until the change is in force. */
const MAX_READ_AGAIN = 10_000

/** How many users of newer revisions are kept. */
const MAX_AHEAD = 1000

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

/** A user of a revision that memory does not have yet. */
interface AheadEntry extends Revision {
  readonly user: ServiceUser
  /** How many comparisons had begun by then. */
  readonly comparison: number
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
  readonly #users: UserCache
  /** Forged client IDs must not take every database connection. */
  readonly #semaphore: Semaphore
  readonly #named = new SingleFlightByKey((userId) => this.#semaphore.run(() => this.#read(userId)))
  /** Separate from `#named` also for the same user, because that read may have to wait. */
  readonly #proved = new SingleFlightByKey((userId) => this.#semaphore.runFirst(() => this.#read(userId)))
  #revision: Revision = { version: -1, changedAt: null }
  readonly #ahead = new Map<string, AheadEntry>()
  #comparisons = 0
  #hits = 0
  #misses = 0

  constructor(reader: Pick<InstanceReader, 'findServiceUser'>, limits: IdentitiesLimits = {}) {
    const { capacity = DEFAULT_CAPACITY, maxReads = DEFAULT_MAX_READS } = limits
    this.#reader = reader
    this.#semaphore = new Semaphore({ maxRunning: maxReads, maxWaiting: MAX_WAITING, refusal: databaseBusy })
    this.#users = new UserCache(capacity)
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
    const known = this.#ahead.get(userId)?.user ?? this.#users.get(userId)
    if (known !== undefined) this.#hits++
    return known
  }

  /** Since the start, and now. */
  get counts(): IdentityCounts {
    return { hits: this.#hits, misses: this.#misses, users: this.#users.size + this.#ahead.size }
  }

  /** The ids to ask for in the state that `replace` takes next: those that may have changed, the ones used last if there are many. */
  idsToRead(changes: IdentityChanges): string[] {
    return [...this.#ahead.keys(), ...this.#users.changedBy(changes, MAX_READ_AGAIN - this.#ahead.size)]
  }

  /** A comparison with the database begins. */
  beginComparison(): void {
    this.#comparisons += 1
  }

  /** The comparison has found the revision that memory has. */
  confirm(): void {
    for (const [userId, entry] of this.#ahead) this.#settle(userId, entry)
  }

  /**
   * Takes over another state, which was loaded with `idsToRead`. Users who may have changed and are not in it are forgotten.
   */
  replace({
    version,
    changedAt,
    users,
    changes,
  }: Revision & Pick<InstanceState, 'users'> & { readonly changes: IdentityChanges }): void {
    this.#revision = { version, changedAt }
    for (const userId of this.#users.changedBy(changes)) {
      const user = users.get(userId)
      if (user !== undefined) this.#users.update(user)
      else this.#users.delete(userId)
    }
    for (const [userId, entry] of this.#ahead) {
      const user = users.get(userId)
      if (user !== undefined && entry.version < version) this.#keep(user)
      else this.#settle(userId, entry)
    }
  }

  /** Marks what is in memory as up to date at a revision that this process has made, and that changed no user. */
  advance({ version, changedAt }: Revision): void {
    this.#revision = { version, changedAt }
  }

  /** Keeps a user of the revision that memory has now, and forgets one of another revision that a comparison should have found. */
  #settle(userId: string, entry: AheadEntry): void {
    if (isSameRevision(entry, this.#revision)) this.#keep(entry.user)
    else if (entry.version <= this.#revision.version || entry.comparison < this.#comparisons) this.#ahead.delete(userId)
  }

  #keep(user: ServiceUser): void {
    this.#ahead.delete(user.userId)
    this.#users.set(user)
  }

  #request(reads: SingleFlightByKey<ServiceUser | undefined>, userId: string): Promise<ServiceUser | undefined> {
    this.#misses++
    return reads.request(userId)
  }

  async #read(userId: string): Promise<ServiceUser | undefined> {
    const { version, changedAt, user } = await this.#reader.findServiceUser(userId)
    const isCurrent = isSameRevision({ version, changedAt }, this.#revision)
    // An answer that is older than memory may lack a change.
    if (!isCurrent && version <= this.#revision.version) return user
    if (version < (this.#ahead.get(userId)?.version ?? version)) return user
    this.#ahead.delete(userId)
    if (isCurrent && user !== undefined) this.#keep(user)
    else this.#users.delete(userId)
    if (!isCurrent && user !== undefined && this.#ahead.size < MAX_AHEAD)
      this.#ahead.set(userId, { version, changedAt, user, comparison: this.#comparisons })
    return user
  }
}
