/**
 * The use cases of the client certificates of service users.
 */
import type { Actor } from '../../domain/identities/authority.ts'
import {
  addCertificate,
  type ClientCertificate,
  parseCertificateValue,
  removeCertificate,
} from '../../domain/identities/client-certificate.ts'
import { visibleUser } from '../../domain/identities/reach.ts'
import { existingUser, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import { userResource } from '../audit/audit-resources.ts'
import type { Replica } from '../replica/replica.ts'

/** What the use cases need. */
export interface ClientCertificatesOptions {
  readonly store: IdentityStore
  readonly replica: Pick<Replica, 'refreshAfterWrite'>
  /** A new random UUID. */
  readonly newId: () => string
}

/**
 * Every method throws {DomainError} `user_not_found` and `storage_unavailable`; what changes something also `change_outcome_unknown`
 * and `change_not_in_force`.
 */
export class ClientCertificates {
  readonly #options: ClientCertificatesOptions

  constructor(options: ClientCertificatesOptions) {
    this.#options = options
  }

  /** @throws {DomainError} `client_certificate_invalid`; `client_certificate_limit_reached`; `expiration_in_past`. */
  async add(
    actor: Actor,
    userId: string,
    { match, value: text, expiresAt }: Pick<ClientCertificate, 'match' | 'value' | 'expiresAt'>,
  ): Promise<ClientCertificate> {
    const value = parseCertificateValue(match, text)
    const certificateId = this.#options.newId()
    return this.#change(actor, userId, certificateId, (user, { clock, date }) => {
      const certificate = { certificateId, match, value, createdAt: date, expiresAt }
      return { next: addCertificate(user, certificate, clock), result: certificate }
    })
  }

  /** Oldest first. */
  async list({ authority }: Actor, userId: string): Promise<readonly ClientCertificate[]> {
    const user = visibleUser(authority.reach, await this.#options.store.findUser(userId))
    return existingUser(user, userId).certificates
  }

  /** @throws {DomainError} `client_certificate_not_found`. */
  remove(actor: Actor, userId: string, certificateId: string): Promise<void> {
    return this.#change(actor, userId, certificateId, (user) => ({
      next: removeCertificate(user, certificateId),
      result: undefined,
    }))
  }

  async #change<T>(
    actor: Actor,
    userId: string,
    certificateId: string,
    decide: (user: ServiceUser, moment: ChangeMoment) => { readonly next: ServiceUser; readonly result: T },
  ): Promise<T> {
    const { store, replica } = this.#options
    const entry = { ...actor, resource: userResource(userId, 'certificates', certificateId) }
    const result = await store.changeUser(userId, entry, (user, moment) => decide(existingUser(user, userId), moment))
    await replica.refreshAfterWrite()
    return result
  }
}
