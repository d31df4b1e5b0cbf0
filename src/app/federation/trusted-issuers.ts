/**
 * The use cases of trusted issuers.
 *
 * Each change is visible on this replica when the call returns, and is an event of the audit trail. A fetch of keys is no change.
 */

import { trustedIssuerResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import type { FetchedKeys, IssuerKey, IssuerKeys, KeySource } from '../../domain/federation/trusted-issuer.ts'
import {
  addIssuer,
  editIssuer,
  existingIssuer,
  type IssuerEdit,
  type NewIssuer,
  removeIssuer,
  type TrustedIssuer,
} from '../../domain/federation/trusted-issuer.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import type { FederationStore, FetchingIssuer, IssuerKeyFetches, IssuersChange } from '../../domain/ports/federation.ts'
import type { Replica } from '../replica/replica.ts'

export interface TrustedIssuersOptions {
  readonly store: FederationStore
  readonly replica: Pick<Replica, 'inForce'>
  readonly fetches: IssuerKeyFetches
  readonly parseIssuerKeys: (json: string) => readonly IssuerKey[]
  /** Reads certificates (PEM), and returns them in their usual spelling. @throws {DomainError} `trusted_issuer_invalid`. */
  readonly parseCaCertificates: (pem: string) => string
  readonly newId: () => string
  readonly issuer: string
}

export type KeyOrigin =
  | { readonly kind: 'jwks'; readonly jwks: string }
  | { readonly kind: 'fetched'; readonly source: KeySource }

export function readKeyOrigin(
  origin: KeyOrigin,
  { parseIssuerKeys, parseCaCertificates }: Pick<TrustedIssuersOptions, 'parseIssuerKeys' | 'parseCaCertificates'>,
): IssuerKeys {
  if (origin.kind === 'jwks') return { kind: 'given', keys: parseIssuerKeys(origin.jwks) }
  const { caCertificates } = origin.source
  return {
    ...origin,
    source: { ...origin.source, caCertificates: caCertificates && parseCaCertificates(caCertificates) },
  }
}

export type TrustedIssuers = ReturnType<typeof createTrustedIssuers>

/**
 * Every method throws {DomainError} `storage_unavailable`, and `trusted_issuer_not_found` if it takes an issuer's id; what changes
 * something also `change_outcome_unknown` and `change_not_in_force`.
 */
export function createTrustedIssuers(options: TrustedIssuersOptions) {
  const { store, replica, fetches, newId, issuer: own } = options

  const get = async (issuerId: string): Promise<TrustedIssuer> => existingIssuer(await store.list(), issuerId)

  const change = <T>(
    actor: Actor,
    issuerId: string,
    decide: (issuers: readonly TrustedIssuer[], date: Date) => IssuersChange<T>,
  ): Promise<T> => replica.inForce(store.change({ ...actor, resource: trustedIssuerResource(issuerId) }, decide))

  const withIssuer = (next: readonly TrustedIssuer[], issuerId: string): IssuersChange<TrustedIssuer> => ({
    next,
    result: existingIssuer(next, issuerId),
  })

  return {
    /** @throws {DomainError} `trusted_issuer_taken`; `trusted_issuer_invalid`; `trusted_issuer_limit_reached`. */
    async create(
      actor: Actor,
      { keys, ...facts }: Omit<NewIssuer, 'issuerId' | 'keys'> & { readonly keys: KeyOrigin },
    ): Promise<TrustedIssuer> {
      const added = { ...facts, issuerId: newId(), keys: readKeyOrigin(keys, options) }
      const { issuerId } = added
      return change(actor, issuerId, (issuers, date) => withIssuer(addIssuer(issuers, added, { date, own }), issuerId))
    },

    /** Its keys are fetched first if a JWT would have them fetched now. */
    async get(issuerId: string): Promise<TrustedIssuer> {
      const issuer = await get(issuerId)
      if (issuer.keys.kind === 'fetched') await fetches.refresh(fetching(issuer, issuer.keys), 'if due')
      return issuer
    },

    /** What this process knows of the keys of an issuer. Undefined: they are given. */
    fetchedKeys: (issuer: TrustedIssuer): FetchedKeys | undefined =>
      issuer.keys.kind === 'given' ? undefined : fetches.state(fetching(issuer, issuer.keys)),

    list: () => store.list(),

    /** @throws {DomainError} `trusted_issuer_invalid`. */
    async edit(
      actor: Actor,
      issuerId: string,
      { keys, ...limits }: Omit<IssuerEdit, 'keys'> & { readonly keys?: KeyOrigin },
    ): Promise<TrustedIssuer> {
      const edit = keys === undefined ? limits : { ...limits, keys: readKeyOrigin(keys, options) }
      return change(actor, issuerId, (issuers) => withIssuer(editIssuer(issuers, issuerId, edit), issuerId))
    },

    /** Fetches the keys of an issuer now, for this process. @throws {DomainError} `trusted_issuer_keys_given`. */
    async refreshKeys(issuerId: string): Promise<TrustedIssuer> {
      const issuer = await get(issuerId)
      if (issuer.keys.kind === 'given') {
        throw new DomainError(
          'trusted_issuer_keys_given',
          'the keys of this issuer were given by hand: update them instead',
        )
      }
      await fetches.refresh(fetching(issuer, issuer.keys), 'now')
      return issuer
    },

    delete: (actor: Actor, issuerId: string): Promise<void> =>
      change(actor, issuerId, (issuers) => ({ next: removeIssuer(issuers, issuerId), result: undefined })),
  }
}

function fetching({ issuerId, issuer }: TrustedIssuer, { source }: { readonly source: KeySource }): FetchingIssuer {
  return { issuerId, issuer, source }
}
