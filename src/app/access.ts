/**
 * Who is calling and whether they may: bearer tokens of this service, and permissions looked up live (Spec §5).
 *
 * Whatever goes wrong on the way to "yes" is a refusal.
 */
import { isLive } from '../domain/credentials.ts'
import { DomainError } from '../domain/errors.ts'
import { allows, type Permission } from '../domain/permission.ts'
import type { AccessTokenVerifier, ClientSecrets, IdentityStore } from '../domain/ports.ts'
import type { ServiceUser } from '../domain/service-user.ts'
import type { Replica } from './replica.ts'
import { Turnstile } from './turnstile.ts'

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i

/** What tells personal access tokens from access tokens, which are JWTs. */
const PERSONAL_ACCESS_TOKEN = /^ktn_pat_/

/** How many personal access tokens are looked up at the same time, and how many calls may wait for that. */
const MAX_LOOKUPS = 4
const MAX_WAITING = 100

/** What access is decided with. */
export interface AccessOptions {
  readonly replica: Replica
  readonly verifier: AccessTokenVerifier
  readonly store: Pick<IdentityStore, 'findUserByPersonalAccessToken'>
  readonly secrets: ClientSecrets
  /** The time at which tokens are looked at. */
  readonly now: () => Date
}

export class Access {
  readonly #options: AccessOptions
  /** Tokens are made up easily, and the replica needs the database for itself as well. */
  readonly #lookups = new Turnstile(MAX_LOOKUPS, MAX_WAITING)

  constructor(options: AccessOptions) {
    this.#options = options
  }

  /**
   * The caller, if the `Authorization` header has a valid token of an enabled user.
   *
   * @throws {DomainError} `token_missing`, `token_invalid`, `storage_unavailable`.
   */
  async authenticate(authorization: string | null): Promise<ServiceUser> {
    if (authorization === null || authorization === '') {
      throw new DomainError('token_missing', 'an access token is required: send "Authorization: Bearer <access token>"')
    }
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) {
      throw new DomainError('token_invalid', 'the header must read "Authorization: Bearer <access token>"')
    }
    return PERSONAL_ACCESS_TOKEN.test(token) ? this.#ownerOf(token) : this.#subjectOf(token)
  }

  /** @throws {DomainError} `permission_missing` unless a role of the caller includes the permission. */
  assertMay(caller: ServiceUser, permission: Permission): void {
    if (!allows(caller.instanceRoles, permission)) {
      throw new DomainError('permission_missing', `the permission ${permission} is required`, {
        metadata: { permission },
      })
    }
  }

  /** @throws {DomainError} `storage_unavailable` at once, instead of letting the caller wait for the database. */
  assertStorageReachable(): void {
    this.#options.replica.assertReachable()
  }

  async #subjectOf(token: string): Promise<ServiceUser> {
    const { replica, verifier } = this.#options
    const subject = await verifier.subjectOf(token, replica.keys().ring)
    const caller = await replica.findServiceUser(subject)
    if (caller === undefined || !caller.enabled) {
      throw new DomainError('token_invalid', 'the service user of the access token is disabled or has been deleted')
    }
    return caller
  }

  /** Asks the database each time, so that a token which is revoked on one replica is refused on all others at once. */
  async #ownerOf(token: string): Promise<ServiceUser> {
    const { replica, store, secrets, now } = this.#options
    replica.assertReachable()
    const caller = await this.#lookups.run(() =>
      store.findUserByPersonalAccessToken(secrets.hashPersonalAccessToken(token)),
    )
    const at = now()
    const live = caller?.personalAccessTokens.filter((candidate) => isLive(candidate, at)) ?? []
    const isTheirs = secrets.matchesPersonalAccessToken(
      token,
      live.map(({ hash }) => hash),
    )
    if (caller === undefined || !isTheirs || !caller.enabled) {
      throw new DomainError(
        'token_invalid',
        'the personal access token is not valid: it does not exist any more, has expired, or its user is disabled',
      )
    }
    return caller
  }
}
