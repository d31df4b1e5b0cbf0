/**
 * The service users that this replica needs, in memory, each as of the newest version that the replica knows.
 *
 * A user is read from the database at its first use, with one query, and again when `replica.ts` hears of a change.
 * That there is no such user is remembered as well, apart, so that made-up ids cannot push real users out.
 */
import type { InstanceReader, InstanceState } from '../domain/ports.ts'
import type { ServiceUser } from '../domain/service-user.ts'
import { BoundedMap } from './bounded-map.ts'
import { Turnstile } from './turnstile.ts'

const DEFAULT_CAPACITY = 10_000

/** How many users are read at the same time unless it is said, and how many requests may wait for that. */
const DEFAULT_MAX_READS = 4
const MAX_WAITING = 1000

/** How much is kept and read. */
export interface IdentitiesLimits {
  /** The greatest number of users in memory, and of ids known to have no user. Default 10 000. */
  readonly capacity?: number | undefined
  /** How many users may be read at the same time. Default 4. */
  readonly maxReads?: number | undefined
}

interface Entry<T> {
  readonly version: number
  readonly value: T
}

/** How often users were asked for, and how many are in memory. */
export interface IdentityCounts {
  /** Look-ups answered from memory. */
  readonly hits: number
  /** Look-ups that had to wait for the database. */
  readonly misses: number
  /** Look-ups of ids that are known to have no user. */
  readonly unknown: number
  readonly users: number
  readonly unknownIds: number
}

export class LiveIdentities {
  readonly #reader: Pick<InstanceReader, 'findServiceUser'>
  readonly #users: BoundedMap<string, Entry<ServiceUser>>
  readonly #unknown: BoundedMap<string, Entry<true>>
  readonly #pending = new Map<string, Promise<ServiceUser | undefined>>()
  /** Client IDs are made up easily, and the replica needs the database for itself as well. */
  readonly #reads: Turnstile
  #version = -1
  /** How often the database has gone back. */
  #setbacks = 0
  #hits = 0
  #misses = 0
  #unknownHits = 0

  constructor(reader: Pick<InstanceReader, 'findServiceUser'>, limits: IdentitiesLimits = {}) {
    const { capacity = DEFAULT_CAPACITY, maxReads = DEFAULT_MAX_READS } = limits
    this.#reader = reader
    this.#reads = new Turnstile(maxReads, MAX_WAITING)
    this.#users = new BoundedMap(capacity)
    this.#unknown = new BoundedMap(capacity)
  }

  /**
   * The user with this id, or undefined if there is none.
   *
   * @throws {DomainError} `storage_unavailable` if the user is not in memory and the database cannot be reached, or is
   * asked for too many users already.
   */
  find(userId: string): Promise<ServiceUser | undefined> {
    const known = this.recall(userId)
    if (known !== undefined) return Promise.resolve(known)
    if (this.#unknown.get(userId) !== undefined) {
      this.#unknownHits++
      return Promise.resolve(undefined)
    }

    this.#misses++
    const pending = this.#pending.get(userId)
    if (pending !== undefined) return pending
    const reading = this.#reads
      .run(() => this.#read(userId))
      .finally(() => {
        if (this.#pending.get(userId) === reading) this.#pending.delete(userId)
      })
    this.#pending.set(userId, reading)
    return reading
  }

  /** The user with this id, if it is in memory. Only what is found is counted. */
  recall(userId: string): ServiceUser | undefined {
    const known = this.#users.get(userId)
    if (known !== undefined) this.#hits++
    return known?.value
  }

  /** Since the start, and now. */
  get counts(): IdentityCounts {
    return {
      hits: this.#hits,
      misses: this.#misses,
      unknown: this.#unknownHits,
      users: this.#users.size,
      unknownIds: this.#unknown.size,
    }
  }

  /** The ids to ask for in the `InstanceState` that `replace` takes next. */
  cachedIds(): string[] {
    return [...this.#users.entries()].map(([userId]) => userId)
  }

  /**
   * Takes over another state. It must have been loaded with `requestedIds`.
   *
   * It is newer than the one before, or the database has gone back: then whatever it did not confirm is forgotten.
   */
  replace(state: InstanceState, requestedIds: readonly string[]): void {
    const hasGoneBack = state.version <= this.#version
    this.#version = state.version
    // A read that began before this state may not be joined by callers who come after it.
    this.#pending.clear()

    for (const userId of requestedIds) {
      const user = state.users.get(userId)
      if (user === undefined) this.#users.delete(userId)
      else this.#users.replace(userId, { version: state.version, value: user })
    }
    if (hasGoneBack) {
      this.#setbacks += 1
      keepOnly(this.#unknown, new Set())
      keepOnly(this.#users, new Set(requestedIds))
    }
    dropOlder(this.#users, state.version)
    dropOlder(this.#unknown, state.version)
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
    if (user === undefined) this.#unknown.set(userId, { version, value: true })
    else this.#users.set(userId, { version, value: user })
  }
}

function dropOlder<T>(entries: BoundedMap<string, Entry<T>>, version: number): void {
  for (const [userId, entry] of entries.entries()) {
    if (entry.version < version) entries.delete(userId)
  }
}

function keepOnly<T>(entries: BoundedMap<string, Entry<T>>, userIds: ReadonlySet<string>): void {
  for (const [userId] of entries.entries()) {
    if (!userIds.has(userId)) entries.delete(userId)
  }
}
