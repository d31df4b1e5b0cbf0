/**
 * The service users that this replica needs, in memory, and which of them the subjects of trusted issuers name, as of the revision that the
 * replica knows.
 *
 * A user is read from the database at its first use, after a change that may concern it, and before a denial; a subject at its first use after a
 * change that may concern it. Ids and subjects without a user are not cached, because a denial reads the database anyway. Nor is an answer of
 * another revision: a fail-over can lose a newer one, and then no change would name the user.
 */
import { LRUCache } from 'lru-cache'
import type { IdentityChanges } from '../../domain/changes.ts'
import { isSameRevision, type Revision } from '../../domain/changes.ts'
import { databaseBusy } from '../../domain/errors.ts'
import type { FederatedSubject } from '../../domain/identities/federated-identity.ts'
import { projectsOf, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { InstanceReader, InstanceState } from '../../domain/ports/instance.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { SingleFlightByKey } from '../concurrency/single-flight.ts'
import type { StalenessGuard } from '../replica/staleness-guard.ts'

const DEFAULT_CAPACITY = 10_000
const MAX_SUBJECTS = 10_000

/** How many users are read again after a change, so that it takes a bounded time until the change is in force. */
const MAX_READ_AGAIN = 10_000

const DEFAULT_MAX_READS = 4
const MAX_SUBJECT_READS = 2
const MAX_WAITING = 1000

export interface LiveIdentitiesOptions {
  readonly reader: Pick<InstanceReader, 'findServiceUser' | 'findFederatedUsers'>
  readonly guard: Pick<StalenessGuard, 'isFresh' | 'assertFresh' | 'assertReadable'>
  readonly maxUsers?: number | undefined
  readonly maxReads?: number | undefined
}

export interface IdentityCounts {
  readonly hits: number
  readonly misses: number
  readonly users: number
}

/** Every method that asks the database throws {DomainError} `storage_unavailable` if it cannot be reached, or is asked for too much already. */
export class LiveIdentities {
  readonly #options: LiveIdentitiesOptions
  readonly #users: LRUCache<string, ServiceUser>
  readonly #subjects = new LRUCache<string, readonly string[]>({ max: MAX_SUBJECTS })
  /** Forged client IDs and invented subjects must not take every database connection. */
  readonly #userReads: Semaphore
  readonly #subjectReads = new Semaphore({
    maxRunning: MAX_SUBJECT_READS,
    maxWaiting: MAX_WAITING,
    refusal: databaseBusy,
  })
  readonly #named = new SingleFlightByKey((userId) => this.#userReads.run(() => this.#read(userId)))
  /** Separate from `#named` also for the same user, because that read may have to wait. */
  readonly #proved = new SingleFlightByKey((userId) => this.#userReads.runFirst(() => this.#read(userId)))
  readonly #ofSubject = new SingleFlightByKey((key) => this.#subjectReads.run(() => this.#readSubject(key)))
  #revision: Revision = { version: -1, changedAt: null }
  #hits = 0
  #misses = 0

  constructor(options: LiveIdentitiesOptions) {
    const { maxUsers = DEFAULT_CAPACITY, maxReads = DEFAULT_MAX_READS } = options
    this.#options = options
    this.#users = new LRUCache({ max: maxUsers })
    this.#userReads = new Semaphore({ maxRunning: maxReads, maxWaiting: MAX_WAITING, refusal: databaseBusy })
  }

  /** The user with this id, for callers who have proved to be this user. They go before the callers of `read`. */
  async find(userId: string): Promise<ServiceUser | undefined> {
    this.#options.guard.assertFresh()
    return this.recall(userId) ?? (await this.#request(this.#proved, userId))
  }

  /**
   * The user with this id as the database has it after this call. Every denial must rest on it, because another replica may have made the user a
   * moment ago. It takes as long for a user in memory as for one who does not exist.
   */
  async read(userId: string): Promise<ServiceUser | undefined> {
    this.#options.guard.assertFresh()
    return await this.#request(this.#named, userId)
  }

  /** The user with this id, if it is in memory and memory is fresh. A miss is not counted. */
  recall(userId: string): ServiceUser | undefined {
    const known = this.#options.guard.isFresh() ? this.#users.get(userId) : undefined
    if (known !== undefined) this.#hits++
    return known
  }

  /** The ids of the users with this subject, two at most, if they are in memory and memory is fresh. */
  recallSubject(subject: FederatedSubject): readonly string[] | undefined {
    return this.#options.guard.isFresh() ? this.#subjects.get(keyOf(subject)) : undefined
  }

  /** The same as the database has them. */
  async readSubject(subject: FederatedSubject): Promise<readonly string[]> {
    this.#options.guard.assertFresh()
    return await this.#ofSubject.request(keyOf(subject))
  }

  get counts(): IdentityCounts {
    return { hits: this.#hits, misses: this.#misses, users: this.#users.size }
  }

  /** The ids to ask for in the state that `replace` takes next: those that may have changed, the ones used last if there are many. */
  idsToRead(changes: IdentityChanges): string[] {
    return this.#changedBy(changes).slice(0, MAX_READ_AGAIN)
  }

  /** Takes over another state, which was loaded with `idsToRead`. What may have changed and is not in it is forgotten. */
  replace({
    version,
    changedAt,
    users,
    changes,
  }: Revision & Pick<InstanceState, 'users'> & { readonly changes: IdentityChanges }): void {
    this.#revision = { version, changedAt }
    // The one used last comes last, so that it is still that.
    for (const userId of this.#changedBy(changes).reverse()) {
      const user = users.get(userId)
      if (user === undefined) this.#users.delete(userId)
      else this.#users.set(userId, user)
    }
    if (changes.kind === 'any') this.#subjects.clear()
    else this.#forgetSubjects(changes.userIds, new Set(changes.subjects.map(keyOf)))
  }

  /** The ids of users in memory who may be others after these changes, the ones used last first if all have to be looked at. */
  #changedBy(changes: IdentityChanges): string[] {
    if (changes.kind === 'any') return [...this.#users.keys()]
    const { userIds, projectIds } = changes
    if (projectIds.size === 0) return [...userIds].filter((userId) => this.#users.has(userId))
    return [...this.#users.entries()]
      .filter(([userId, user]) => userIds.has(userId) || [...projectsOf(user)].some((id) => projectIds.has(id)))
      .map(([userId]) => userId)
  }

  #forgetSubjects(userIds: ReadonlySet<string>, keys: ReadonlySet<string>): void {
    for (const [key, known] of [...this.#subjects.entries()]) {
      if (keys.has(key) || known.some((userId) => userIds.has(userId))) this.#subjects.delete(key)
    }
  }

  #request(reads: SingleFlightByKey<ServiceUser | undefined>, userId: string): Promise<ServiceUser | undefined> {
    this.#misses++
    return reads.request(userId)
  }

  async #read(userId: string): Promise<ServiceUser | undefined> {
    const { guard, reader } = this.#options
    guard.assertReadable()
    const { user, ...revision } = await reader.findServiceUser(userId)
    if (!isSameRevision(revision, this.#revision)) return user
    if (user === undefined) this.#users.delete(userId)
    else this.#users.set(userId, user)
    return user
  }

  async #readSubject(key: string): Promise<readonly string[]> {
    const { guard, reader } = this.#options
    guard.assertReadable()
    const { userIds, ...revision } = await reader.findFederatedUsers(subjectOf(key))
    if (isSameRevision(revision, this.#revision) && userIds.length > 0) this.#subjects.set(key, userIds)
    return userIds
  }
}

function keyOf({ issuerId, subject }: FederatedSubject): string {
  return `${issuerId} ${subject}`
}

/** The id of an issuer has no space. */
function subjectOf(key: string): FederatedSubject {
  const end = key.indexOf(' ')
  return { issuerId: key.slice(0, end), subject: key.slice(end + 1) }
}
