/**
 * Who is calling and whether they may: bearer tokens of this service, and permissions looked up live (Spec §5).
 *
 * Whatever goes wrong on the way to "yes" is a refusal.
 */
import { DomainError } from '../domain/errors.ts'
import { allows, type Permission } from '../domain/permission.ts'
import type { AccessTokenVerifier } from '../domain/ports.ts'
import type { ServiceUser } from '../domain/service-user.ts'
import type { Replica } from './replica.ts'

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i

export class Access {
  readonly #replica: Replica
  readonly #verifier: AccessTokenVerifier

  constructor(replica: Replica, verifier: AccessTokenVerifier) {
    this.#replica = replica
    this.#verifier = verifier
  }

  /**
   * The caller, if the `Authorization` header has a valid token of an enabled user whose roles include the permission.
   *
   * @throws {DomainError} `token_missing`, `token_invalid`, `permission_missing`, `storage_unavailable`.
   */
  async authorize(authorization: string | null, permission: Permission): Promise<ServiceUser> {
    const caller = await this.#authenticate(authorization)
    if (!allows(caller.instanceRoles, permission)) {
      throw new DomainError('permission_missing', `the permission ${permission} is required`, {
        metadata: { permission },
      })
    }
    return caller
  }

  async #authenticate(authorization: string | null): Promise<ServiceUser> {
    if (authorization === null || authorization === '') {
      throw new DomainError('token_missing', 'an access token is required: send "Authorization: Bearer <access token>"')
    }
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) {
      throw new DomainError('token_invalid', 'the header must read "Authorization: Bearer <access token>"')
    }
    const subject = await this.#verifier.subjectOf(token, this.#replica.keys().ring)
    const caller = await this.#replica.findServiceUser(subject)
    if (caller === undefined || !caller.enabled) {
      throw new DomainError('token_invalid', 'the service user of the access token is disabled or has been deleted')
    }
    return caller
  }
}
