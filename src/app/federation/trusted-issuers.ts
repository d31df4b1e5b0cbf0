/**
 * The use cases of trusted issuers.
 *
 * Each change is visible on this replica when the call returns, and is an event of the audit trail.
 */
import {
  addIssuer,
  editIssuer,
  existingIssuer,
  type IssuerEdit,
  type IssuerKey,
  type NewIssuer,
  removeIssuer,
  type TrustedIssuer,
} from '../../domain/federation/trusted-issuer.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import type { FederationStore } from '../../domain/ports.ts'
import { trustedIssuerResource } from '../audit/audit-resources.ts'
import type { Replica } from '../replica/replica.ts'

/** What the use cases need. */
export interface TrustedIssuersOptions {
  readonly store: FederationStore
  readonly replica: Pick<Replica, 'refreshAfterWrite'>
  /** Reads a JWK Set. @throws {DomainError} `trusted_issuer_invalid`. */
  readonly parseIssuerKeys: (json: string) => readonly IssuerKey[]
  /** A new random UUID. */
  readonly newId: () => string
  /** The issuer of this service. */
  readonly issuer: string
}

/** Keys of an issuer as an administrator gives them: a JWK Set. */
interface GivenKeys {
  readonly jwks: string
}

/**
 * Every method throws {DomainError} `storage_unavailable`, and `trusted_issuer_not_found` if it takes an issuer's id; what changes
 * something also `change_outcome_unknown` and `change_not_in_force`.
 */
export class TrustedIssuers {
  readonly #options: TrustedIssuersOptions

  constructor(options: TrustedIssuersOptions) {
    this.#options = options
  }

  /** @throws {DomainError} `trusted_issuer_taken`; `trusted_issuer_invalid`; `trusted_issuer_limit_reached`. */
  async create(
    actor: Actor,
    { jwks, ...facts }: Omit<NewIssuer, 'issuerId' | 'keys'> & GivenKeys,
  ): Promise<TrustedIssuer> {
    const { parseIssuerKeys, newId, issuer: own } = this.#options
    const issuerId = newId()
    const keys = parseIssuerKeys(jwks)
    return this.#change(actor, issuerId, (issuers, now) =>
      addIssuer(issuers, { ...facts, issuerId, keys }, { at: now, own }),
    )
  }

  async get(issuerId: string): Promise<TrustedIssuer> {
    return existingIssuer(await this.list(), issuerId)
  }

  /** Ordered by `issuer`. */
  list(): Promise<readonly TrustedIssuer[]> {
    return this.#options.store.list()
  }

  /** @throws {DomainError} `trusted_issuer_invalid`. */
  async edit(
    actor: Actor,
    issuerId: string,
    { jwks, ...facts }: Omit<IssuerEdit, 'keys'> & Partial<GivenKeys>,
  ): Promise<TrustedIssuer> {
    const edit = jwks === undefined ? facts : { ...facts, keys: this.#options.parseIssuerKeys(jwks) }
    return this.#change(actor, issuerId, (issuers) => editIssuer(issuers, issuerId, edit))
  }

  /** Deletes an issuer, and the federated identities that name it. */
  async delete(actor: Actor, issuerId: string): Promise<void> {
    const { store, replica } = this.#options
    const entry = { ...actor, resource: trustedIssuerResource(issuerId) }
    await store.change(entry, (issuers) => ({ next: removeIssuer(issuers, issuerId), result: undefined }))
    await replica.refreshAfterWrite()
  }

  async #change(
    actor: Actor,
    issuerId: string,
    decide: (issuers: readonly TrustedIssuer[], now: Date) => readonly TrustedIssuer[],
  ): Promise<TrustedIssuer> {
    const { store, replica } = this.#options
    const entry = { ...actor, resource: trustedIssuerResource(issuerId) }
    const issuer = await store.change(entry, (issuers, now) => {
      const next = decide(issuers, now)
      return { next, result: existingIssuer(next, issuerId) }
    })
    await replica.refreshAfterWrite()
    return issuer
  }
}
