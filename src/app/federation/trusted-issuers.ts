/**
 * The use cases of trusted issuers.
 *
 * Each change is visible on this replica when the call returns, and is an event of the audit trail.
 */
import type { IssuerKey, KeySource } from '../../domain/federation/issuer-keys.ts'
import {
  addIssuer,
  editIssuer,
  existingIssuer,
  type IssuerEdit,
  type IssuerKeyChoice,
  type NewIssuer,
  refreshIssuerKeys,
  removeIssuer,
  type TrustedIssuer,
} from '../../domain/federation/trusted-issuer.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import type { FederationStore } from '../../domain/ports/federation.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import { trustedIssuerResource } from '../audit/audit-resources.ts'
import type { Replica } from '../replica/replica.ts'

/** What the use cases need. */
export interface TrustedIssuersOptions {
  readonly store: FederationStore
  readonly replica: Pick<Replica, 'refreshAfterWrite'>
  /** Reads a JWK Set. @throws {DomainError} `trusted_issuer_invalid`. */
  readonly parseIssuerKeys: (json: string) => readonly IssuerKey[]
  /** Reads certificates (PEM), and returns them in their usual spelling. @throws {DomainError} `trusted_issuer_invalid`. */
  readonly parseCaCertificates: (pem: string) => string
  /** A new random UUID. */
  readonly newId: () => string
  /** The issuer of this service. */
  readonly issuer: string
}

/** Keys of an issuer as an administrator sets them: a JWK Set, or where to fetch them from. */
export type KeyOrigin =
  | { readonly kind: 'jwks'; readonly jwks: string }
  | { readonly kind: 'fetched'; readonly source: KeySource }

/** Reads what a key origin is made of. @throws {DomainError} `trusted_issuer_invalid`. */
export function readKeyOrigin(
  origin: KeyOrigin,
  { parseIssuerKeys, parseCaCertificates }: Pick<TrustedIssuersOptions, 'parseIssuerKeys' | 'parseCaCertificates'>,
): IssuerKeyChoice {
  if (origin.kind === 'jwks') return { kind: 'given', keys: parseIssuerKeys(origin.jwks) }
  const { caCertificates } = origin.source
  return {
    ...origin,
    source: { ...origin.source, caCertificates: caCertificates && parseCaCertificates(caCertificates) },
  }
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
    { keys: origin, ...facts }: Omit<NewIssuer, 'issuerId' | 'keys'> & { readonly keys: KeyOrigin },
  ): Promise<TrustedIssuer> {
    const { newId, issuer: own } = this.#options
    const issuerId = newId()
    const keys = readKeyOrigin(origin, this.#options)
    return this.#change(actor, issuerId, (issuers, moment) =>
      addIssuer(issuers, { ...facts, issuerId, keys }, { moment, own }),
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
    { keys: origin, ...limits }: Omit<IssuerEdit, 'keys'> & { readonly keys?: KeyOrigin },
  ): Promise<TrustedIssuer> {
    const edit = origin === undefined ? limits : { ...limits, keys: readKeyOrigin(origin, this.#options) }
    return this.#change(actor, issuerId, (issuers, { clock }) => editIssuer(issuers, issuerId, { edit, clock }))
  }

  /** Has the keys of an issuer fetched now. It does not wait for that. @throws {DomainError} `trusted_issuer_keys_given`. */
  async refreshKeys(actor: Actor, issuerId: string): Promise<TrustedIssuer> {
    return this.#change(actor, issuerId, (issuers, { clock }) => refreshIssuerKeys(issuers, issuerId, clock))
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
    decide: (issuers: readonly TrustedIssuer[], moment: ChangeMoment) => readonly TrustedIssuer[],
  ): Promise<TrustedIssuer> {
    const { store, replica } = this.#options
    const entry = { ...actor, resource: trustedIssuerResource(issuerId) }
    const issuer = await store.change(entry, (issuers, moment) => {
      const next = decide(issuers, moment)
      return { next, result: existingIssuer(next, issuerId) }
    })
    await replica.refreshAfterWrite()
    return issuer
  }
}
