/**
 * The use cases of the federated identities of service users.
 */
import { addIdentity, type FederatedIdentity, removeIdentity } from '../../domain/federation/federated-identity.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import { visibleUser } from '../../domain/identities/reach.ts'
import { existingUser, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import { userResource } from '../audit/audit-resources.ts'
import type { Replica } from '../replica/replica.ts'

/** What the use cases need. */
export interface FederatedIdentitiesOptions {
  readonly store: IdentityStore
  readonly replica: Pick<Replica, 'refreshAfterWrite'>
  /** A new random UUID. */
  readonly newId: () => string
}

/**
 * Every method throws {DomainError} `user_not_found` and `storage_unavailable`; what changes something also `change_outcome_unknown`
 * and `change_not_in_force`.
 */
export class FederatedIdentities {
  readonly #options: FederatedIdentitiesOptions

  constructor(options: FederatedIdentitiesOptions) {
    this.#options = options
  }

  /** @throws {DomainError} `trusted_issuer_not_found`; `federated_identity_limit_reached`. */
  async add(
    actor: Actor,
    userId: string,
    facts: Omit<FederatedIdentity, 'identityId' | 'createdAt'>,
  ): Promise<FederatedIdentity> {
    const identityId = this.#options.newId()
    return this.#change(actor, userId, identityId, (user, createdAt) => {
      const identity = { ...facts, identityId, createdAt }
      return { next: addIdentity(user, identity), result: identity }
    })
  }

  /** Oldest first. */
  async list({ authority }: Actor, userId: string): Promise<readonly FederatedIdentity[]> {
    const user = visibleUser(authority.reach, await this.#options.store.findUser(userId))
    return existingUser(user, userId).federatedIdentities
  }

  /** @throws {DomainError} `federated_identity_not_found`. */
  remove(actor: Actor, userId: string, identityId: string): Promise<void> {
    return this.#change(actor, userId, identityId, (user) => ({
      next: removeIdentity(user, identityId),
      result: undefined,
    }))
  }

  async #change<T>(
    actor: Actor,
    userId: string,
    identityId: string,
    decide: (user: ServiceUser, now: Date) => { readonly next: ServiceUser; readonly result: T },
  ): Promise<T> {
    const { store, replica } = this.#options
    const entry = { ...actor, resource: userResource(userId, 'federated_identities', identityId) }
    const result = await store.changeUser(userId, entry, (user, { date }) => decide(existingUser(user, userId), date))
    await replica.refreshAfterWrite()
    return result
  }
}
