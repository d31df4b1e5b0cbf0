/**
 * Which service users the subjects of trusted issuers name, in memory as of the version of the replica, for requests without a client
 * id. A subject is read from the database at its first use and before a denial, and again after a change of a user who had it or has
 * it now. Subjects that name no user are not cached.
 */
import { LRUCache } from 'lru-cache'
import { databaseBusy } from '../../domain/errors.ts'
import type { FederatedSubject } from '../../domain/federation/federated-identity.ts'
import type { IdentityChanges } from '../../domain/identities/changed-users.ts'
import type { InstanceReader, InstanceState } from '../../domain/ports/instance.ts'
import { isSameRevision, type Revision } from '../../domain/revision.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { SingleFlightByKey } from '../replica/single-flight.ts'

const CAPACITY = 10_000

/** Invented subjects must not take every database connection. */
const MAX_READS = 2
const MAX_WAITING = 1000

interface Entry {
  userIds: readonly string[]
}

export class FederatedSubjects {
  readonly #reader: Pick<InstanceReader, 'findFederatedUsers'>
  readonly #entries = new LRUCache<string, Entry>({ max: CAPACITY })
  readonly #semaphore = new Semaphore({ maxRunning: MAX_READS, maxWaiting: MAX_WAITING, refusal: databaseBusy })
  readonly #reads = new SingleFlightByKey((key) => this.#semaphore.run(() => this.#read(key)))
  #revision: Revision = { version: -1, changedAt: null }

  constructor(reader: Pick<InstanceReader, 'findFederatedUsers'>) {
    this.#reader = reader
  }

  /** The ids of the users with this subject, if they are in memory. */
  recall(subject: FederatedSubject): readonly string[] | undefined {
    return this.#entries.get(keyOf(subject))?.userIds
  }

  /** The same as the database has them. @throws {DomainError} `storage_unavailable`. */
  read(subject: FederatedSubject): Promise<readonly string[]> {
    return this.#reads.request(keyOf(subject))
  }

  /** The subjects to ask for in the state that `replace` takes next. */
  subjectsToRead(changes: IdentityChanges): FederatedSubject[] {
    return this.#changed(changes).map(([key]) => subjectOf(key))
  }

  /** Takes over another state, which was loaded with these subjects. One that may have changed and is not in it is forgotten. */
  replace(
    {
      version,
      changedAt,
      federatedUsers,
      changes,
    }: Revision & Pick<InstanceState, 'federatedUsers'> & { readonly changes: IdentityChanges },
    asked: readonly FederatedSubject[],
  ): void {
    const confirmed = new Map(asked.map((subject, index) => [keyOf(subject), federatedUsers[index] ?? []]))
    this.#revision = { version, changedAt }
    for (const [key, entry] of this.#changed(changes)) {
      const userIds = confirmed.get(key) ?? []
      // In place, because this is no use of the entry.
      if (userIds.length > 0) entry.userIds = userIds
      else this.#entries.delete(key)
    }
  }

  /** Marks what is in memory as up to date at a revision that this process has made, and that changed no user. */
  advance({ version, changedAt }: Revision): void {
    this.#revision = { version, changedAt }
  }

  #changed(changes: IdentityChanges): [string, Entry][] {
    const entries = [...this.#entries.entries()]
    if (changes.kind === 'any') return entries
    const subjects = new Set(changes.subjects.map(keyOf))
    return entries.filter(([key, { userIds }]) => subjects.has(key) || userIds.some((id) => changes.userIds.has(id)))
  }

  async #read(key: string): Promise<readonly string[]> {
    const { userIds, ...revision } = await this.#reader.findFederatedUsers(subjectOf(key))
    // An answer that is older than memory may lack a change, and one that is newer may be lost in a fail-over.
    if (isSameRevision(revision, this.#revision) && userIds.length > 0) this.#entries.set(key, { userIds })
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
