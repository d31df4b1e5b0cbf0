/**
 * The service users that this replica needs, in memory, each as of the newest version that the replica knows.
 *
 * A user is read from the database at its first use, with one query, again when `replica.ts` hears of a change, and before
 * anything is denied by it. That there is no such user is not remembered: it would have to be looked up again anyway.
 */

import { LRUCache } from 'lru-cache'
import { databaseBusy } from '../../domain/errors.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { InstanceReader, InstanceState } from '../../domain/ports.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { SingleFlightByKey } from '../replica/single-flight.ts'

const DEFAULT_CAPACITY = 10_000

/** How many users are read at the same time unless it is said, and how many requests may wait for that in each queue. */
const DEFAULT_MAX_READS = 4
const MAX_WAITING = 1000

/** How much is kept and read. */
export interface IdentitiesLimits {
  /** The greatest number of users in memory. Default 10 000. */
  readonly capacity?: number | undefined
  /** How many users may be read at the same time. Default 4. */
  readonly maxReads?: number | undefined
}

interface Entry {
  version: number
  user: ServiceUser
}

/** How often users were asked for, and how many are in memory. */
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
  /** Client IDs are made up easily, and the replica needs the database for itself as well. */
  readonly #semaphore: Semaphore
  readonly #named = new SingleFlightByKey((userId) => this.#semaphore.run(() => this.#read(userId)))
  /** Apart from those who are only named, also for the same user: that read may have to wait. */
  readonly #proved = new SingleFlightByKey((userId) => this.#semaphore.runFirst(() => this.#read(userId)))
  #version = -1
  /** How often the database has gone back. */
  #setbacks = 0
  #hits = 0
  #misses = 0

  constructor(reader: Pick<InstanceReader, 'findServiceUser'>, limits: IdentitiesLimits = {}) {
    const { capacity = DEFAULT_CAPACITY, maxReads = DEFAULT_MAX_READS } = limits
    this.#reader = reader
    this.#semaphore = new Semaphore({ maxRunning: maxReads, maxWaiting: MAX_WAITING, refusal: databaseBusy })
    this.#users = new LRUCache({ max: capacity })
  }

  /**
   * The user with this id, or undefined if there is none: for callers who have proved that they are this user. They do not wait
   * behind those of `read`.
   *
   * @throws {DomainError} `storage_unavailable` if the user is not in memory and the database cannot be reached, or is
   * asked for too many users already.
   */
  async find(userId: string): Promise<ServiceUser | undefined> {
    return this.recall(userId) ?? (await this.#request(this.#proved, userId))
  }

  /**
   * The user with this id as the database has it after this call, whatever is in memory: for requests that only name the user.
   * Each user is read once at a time.
   *
   * @throws {DomainError} `storage_unavailable` like `find`.
   */
  read(userId: string): Promise<ServiceUser | undefined> {
    return this.#request(this.#named, userId)
  }

  /** The user with this id, if it is in memory. Only what is found is counted. */
  recall(userId: string): ServiceUser | undefined {
    const known = this.#users.get(userId)
    if (known !== undefined) this.#hits++
    return known?.user
  }

  /** Since the start, and now. */
  get counts(): IdentityCounts {
    return { hits: this.#hits, misses: this.#misses, users: this.#users.size }
  }

  /** The ids to ask for in the `InstanceState` that `replace` takes next. */
  cachedIds(): string[] {
    return [...this.#users.keys()]
  }

  /**
   * Takes over another state. It must have been loaded with `requestedIds`.
   *
   * It is newer than the one before, or the database has gone back: then whatever it did not confirm is forgotten.
   */
  replace(state: InstanceState, requestedIds: readonly string[]): void {
    const hasGoneBack = state.version <= this.#version
    this.#version = state.version
    if (hasGoneBack) this.#setbacks += 1
    const requested = new Set(requestedIds)
    for (const [userId, entry] of [...this.#users.entries()]) {
      // Read after the state was.
      if (entry.version > state.version && !hasGoneBack) continue
      const user = state.users.get(userId)
      // In place, because this is no use of the entry.
      if (user !== undefined) Object.assign(entry, { version: state.version, user })
      else if (requested.has(userId) || entry.version < state.version || hasGoneBack) this.#users.delete(userId)
    }
  }

  /** Marks what is in memory as up to date at a version that this process has made, and that changed no user. */
  advance(version: number): void {
    this.#version = version
  }

  #request(reads: SingleFlightByKey<ServiceUser | undefined>, userId: string): Promise<ServiceUser | undefined> {
    this.#misses++
    return reads.request(userId)
  }

  async #read(userId: string): Promise<ServiceUser | undefined> {
    const setbacks = this.#setbacks
    const { version, user } = await this.#reader.findServiceUser(userId)
    // An answer that is older than what has been taken over since may lack a change, so it is not kept; nor is one of
    // before the database went back.
    if (version >= this.#version && setbacks === this.#setbacks) this.#remember(userId, version, user)
    return user
  }

  #remember(userId: string, version: number, user: ServiceUser | undefined): void {
    if (user === undefined) this.#users.delete(userId)
    else this.#users.set(userId, { version, user })
  }
}
