/**
 * The use cases of credentials of service users: client secrets, public keys, personal access tokens.
 *
 * A secret is returned once, by the call that makes it, and stored nowhere: the store, the log and the audit trail get ids and
 * hashes. Secrets and key pairs are made before the store is locked.
 */
import { DomainError } from '../../domain/errors.ts'
import type { Actor, UserAuthority } from '../../domain/identities/authority.ts'
import {
  addKeys,
  addPersonalAccessToken,
  addSecret,
  type ClientSecret,
  deactivateSecret,
  deleteSecret,
  findSecret,
  type PersonalAccessToken,
  removeKey,
  revokePersonalAccessToken,
  type UserKey,
} from '../../domain/identities/credential.ts'
import { existingUser, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { ClientSecrets } from '../../domain/integrity.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import type { ChangeMoment, Clock } from '../../domain/time.ts'
import { type RateLimit, TokenBuckets } from '../access/token-buckets.ts'
import { userResource } from '../audit/audit-resources.ts'
import type { Replica } from '../replica/replica.ts'

/**
 * Of a user's changes of itself, in each process. A rotation makes three. Each change takes the lock of the instance, and adds a version that
 * every replica reads and an event that the trail keeps.
 */
const SELF_SERVICE: RateLimit = { burst: 30, perSecond: 1 / 20 }

/** How many users the limit remembers. */
const MAX_USERS = 10_000

/** What the use cases need. */
export interface CredentialsOptions {
  readonly store: IdentityStore
  readonly replica: Pick<Replica, 'refreshAfterWrite' | 'refreshOrLog'>
  readonly secrets: ClientSecrets
  /** Reads a JWK or a JWK Set. @throws {DomainError} `user_key_invalid`. */
  readonly parseUserKeys: (json: string) => readonly UserKey['publicJwk'][]
  /** How long personal access tokens may live, in days. */
  readonly maxTokenLifetimeDays: number
  /** A new random UUID. */
  readonly newId: () => string
  readonly clock: Pick<Clock, 'monotonic'>
}

/** A client secret that has just been generated, for the one time that it is shown. */
export interface GeneratedSecret {
  readonly user: ServiceUser
  readonly secret: ClientSecret
  readonly plainSecret: string
}

/** A personal access token that has just been created, for the one time that it is shown. */
export interface CreatedToken {
  readonly token: PersonalAccessToken
  readonly plainToken: string
}

type CredentialChange<T> = [
  actor: Actor,
  userId: string,
  part: readonly string[],
  decide: (user: ServiceUser, moment: ChangeMoment) => { readonly next: ServiceUser; readonly result: T },
]

/**
 * Every method throws {DomainError} `user_not_found`, `self_service_limit_reached`, `storage_unavailable`, `change_outcome_unknown`,
 * `change_not_in_force` and the codes of its rule in the domain.
 */
export class Credentials {
  readonly #options: CredentialsOptions
  readonly #selfService: TokenBuckets

  constructor(options: CredentialsOptions) {
    this.#options = options
    this.#selfService = new TokenBuckets({ ...SELF_SERVICE, clock: options.clock, capacity: MAX_USERS })
  }

  /** @param expiresAt Null: it works until it is deactivated or deleted. */
  async generateSecret(actor: Actor, userId: string, expiresAt: Date | null): Promise<GeneratedSecret> {
    const { secrets, newId } = this.#options
    const secretId = newId()
    const { secret: plainSecret, hash } = secrets.generate()
    return this.#create(actor, userId, ['secrets', secretId], (user, { clock, date }) => {
      const secret = { secretId, hash, createdAt: date, expiresAt, deactivatedAt: null, lastUsedAt: null }
      return { next: addSecret(user, secret, clock), result: { user, secret, plainSecret } }
    })
  }

  /** Deactivating a deactivated secret changes nothing. */
  deactivateSecret(actor: Actor, userId: string, secretId: string): Promise<ClientSecret> {
    return this.#change(actor, userId, ['secrets', secretId], (user, { date }) => {
      const next = deactivateSecret(user, secretId, date)
      return { next, result: findSecret(next, secretId) }
    })
  }

  deleteSecret(actor: Actor, userId: string, secretId: string): Promise<void> {
    return this.#change(actor, userId, ['secrets', secretId], (user) => ({
      next: deleteSecret(user, secretId),
      result: undefined,
    }))
  }

  /**
   * Adds the key of a JWK, or all keys of a JWK Set.
   *
   * @param expiresAt Null: they work until they are removed.
   * @throws {DomainError} also `user_key_invalid`.
   */
  async addKeys(
    actor: Actor,
    userId: string,
    { json, expiresAt }: { readonly json: string; readonly expiresAt: Date | null },
  ): Promise<readonly UserKey[]> {
    const { parseUserKeys, newId } = this.#options
    const parsed = parseUserKeys(json).map((publicJwk) => ({ keyId: newId(), publicJwk }))
    const part = parsed.length === 1 ? parsed.map(({ keyId }) => keyId) : []
    return this.#change(actor, userId, ['keys', ...part], (user, { clock, date }) => {
      const keys = parsed.map((key) => ({ ...key, createdAt: date, expiresAt }))
      return { next: addKeys(user, keys, clock), result: keys }
    })
  }

  removeKey(actor: Actor, userId: string, keyId: string): Promise<void> {
    return this.#change(actor, userId, ['keys', keyId], (user) => ({
      next: removeKey(user, keyId),
      result: undefined,
    }))
  }

  async createToken(actor: Actor, userId: string, expiresAt: Date): Promise<CreatedToken> {
    const { secrets, newId, maxTokenLifetimeDays: maxLifetimeDays } = this.#options
    const tokenId = newId()
    const { token: plainToken, hash } = secrets.generatePersonalAccessToken()
    return this.#create(actor, userId, ['tokens', tokenId], (user, { clock, date }) => {
      const token = { tokenId, hash, createdAt: date, expiresAt }
      const next = addPersonalAccessToken(user, token, { clock, maxLifetimeDays })
      return { next, result: { token, plainToken } }
    })
  }

  revokeToken(actor: Actor, userId: string, tokenId: string): Promise<void> {
    return this.#change(actor, userId, ['tokens', tokenId], (user) => ({
      next: revokePersonalAccessToken(user, tokenId),
      result: undefined,
    }))
  }

  async #change<T>(...change: CredentialChange<T>): Promise<T> {
    const result = await this.#store(...change)
    await this.#options.replica.refreshAfterWrite()
    return result
  }

  /** What is shown once is answered also if this replica cannot read it back yet. */
  async #create<T>(...change: CredentialChange<T>): Promise<T> {
    const result = await this.#store(...change)
    await this.#options.replica.refreshOrLog()
    return result
  }

  #store<T>(...[actor, userId, part, decide]: CredentialChange<T>): Promise<T> {
    if (isSelfService(actor.authority, userId)) this.#assertMayChangeItself(userId)
    const entry = { ...actor, resource: userResource(userId, ...part) }
    return this.#options.store.changeUser(userId, entry, (user, moment) => decide(existingUser(user, userId), moment))
  }

  /** Counts a change. @throws {DomainError} `self_service_limit_reached`. */
  #assertMayChangeItself(userId: string): void {
    if (!this.#selfService.has(userId)) {
      throw new DomainError(
        'self_service_limit_reached',
        'you have changed your own secrets too often: try again later, or let an administrator do it',
        { metadata: { retry_after_seconds: String(Math.ceil(1 / SELF_SERVICE.perSecond)) } },
      )
    }
    this.#selfService.take(userId)
  }
}

/** Whether a user changes itself without a right over the whole instance. */
function isSelfService({ reach, userId: caller }: UserAuthority, userId: string): boolean {
  return reach.kind === 'limited' && caller === userId
}
