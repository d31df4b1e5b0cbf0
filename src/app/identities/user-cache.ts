/**
 * Service users in memory, the ones that were used last, found by their id and by the projects that they have to do with.
 */
import { LRUCache } from 'lru-cache'
import type { IdentityChanges } from '../../domain/identities/changed-users.ts'
import { projectsOf, type ServiceUser } from '../../domain/identities/service-user.ts'

interface Entry {
  user: ServiceUser
}

export class UserCache {
  readonly #users: LRUCache<string, Entry>
  /** Of the users above. Looking through all of them for each change of a project would hold up requests. */
  readonly #userIdsByProject = new Map<string, Set<string>>()

  /** @param capacity The greatest number of users. */
  constructor(capacity: number) {
    this.#users = new LRUCache({ max: capacity, dispose: ({ user }) => this.#removeFromProjects(user) })
  }

  get size(): number {
    return this.#users.size
  }

  /** The user with this id, which is used by that. */
  get(userId: string): ServiceUser | undefined {
    return this.#users.get(userId)?.user
  }

  /** Adds a user, who is used by that, or replaces it. */
  set(user: ServiceUser): void {
    this.#users.set(user.userId, { user })
    this.#addToProjects(user)
  }

  /** Replaces a user if it is there. That is no use of it. */
  update(user: ServiceUser): void {
    const entry = this.#users.peek(user.userId)
    if (entry === undefined) return
    this.#removeFromProjects(entry.user)
    entry.user = user
    this.#addToProjects(user)
  }

  delete(userId: string): void {
    this.#users.delete(userId)
  }

  /** The ids of the users who may be others after these changes than they were before: so many, those used last if there are more. */
  changedBy(changes: IdentityChanges, atMost = this.#users.max): readonly string[] {
    if (changes.kind === 'any') return this.#usedLast(atMost, () => true)
    const changed = new Set([...changes.userIds].filter((userId) => this.#users.has(userId)))
    for (const projectId of changes.projectIds) {
      for (const userId of this.#userIdsByProject.get(projectId) ?? []) changed.add(userId)
    }
    return changed.size <= atMost ? [...changed] : this.#usedLast(atMost, (userId) => changed.has(userId))
  }

  #usedLast(atMost: number, isWanted: (userId: string) => boolean): readonly string[] {
    const userIds: string[] = []
    for (const userId of this.#users.keys()) {
      if (userIds.length === atMost) break
      if (isWanted(userId)) userIds.push(userId)
    }
    return userIds
  }

  #addToProjects(user: ServiceUser): void {
    for (const projectId of projectsOf(user)) {
      const userIds = this.#userIdsByProject.get(projectId)
      if (userIds === undefined) this.#userIdsByProject.set(projectId, new Set([user.userId]))
      else userIds.add(user.userId)
    }
  }

  #removeFromProjects(user: ServiceUser): void {
    for (const projectId of projectsOf(user)) {
      const userIds = this.#userIdsByProject.get(projectId)
      userIds?.delete(user.userId)
      if (userIds?.size === 0) this.#userIdsByProject.delete(projectId)
    }
  }
}
