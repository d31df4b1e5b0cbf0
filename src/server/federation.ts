/**
 * Makes what keeps trusted issuers, and what finds their keys.
 */
import { randomUUID } from 'node:crypto'
import { TrustedIssuers } from '../app/federation/trusted-issuers.ts'
import type { KeyFinder } from '../crypto/federated-token.ts'
import { keyFinderOf, parseCaCertificates, parseIssuerKeys, parsePublishedKeys } from '../crypto/issuer-key.ts'
import type { IssuerKey } from '../domain/federation/issuer-keys.ts'
import type { TrustedIssuer } from '../domain/federation/trusted-issuer.ts'
import type { IssuerKeyFetches } from '../domain/ports/federation.ts'
import { createAddressPolicy } from '../outbound/address-policy.ts'
import { FetchedIssuerKeys } from '../outbound/fetched-issuer-keys.ts'
import { createFetchIssuerKeys, createGetDocument } from '../outbound/issuer-key-fetch.ts'
import { createFederationStore } from '../storage/federation/federation-store.ts'
import type { ServicesOptions } from './services.ts'

/** The keys of trusted issuers in this process. */
export interface KeysOfIssuers {
  readonly fetches: IssuerKeyFetches
  /** What finds the key of a JWT, of keys that are given or fetched. */
  finderOf(issuer: TrustedIssuer): KeyFinder
}

/** What finds the keys of trusted issuers. */
export function createKeysOfIssuers({ config, log, metrics }: ServicesOptions): KeysOfIssuers {
  const allows = createAddressPolicy([...config.issuerNetworks, ...config.outboundNetworks])
  const get = createGetDocument({ allows, setting: 'KEYTURN_ISSUER_NETWORKS' })
  const fetch = createFetchIssuerKeys({ get, parseKeys: parsePublishedKeys })
  const fetches = new FetchedIssuerKeys({ fetch, log, onFetch: metrics.countIssuerKeyFetch })
  // With a finder of its own for each JWT, a key would be imported for each.
  const given = new WeakMap<readonly IssuerKey[], KeyFinder>()
  return {
    fetches,
    finderOf: ({ issuerId, issuer, keys }) => {
      if (keys.kind === 'fetched') return fetches.finderOf({ issuerId, issuer, source: keys.source })
      const finder = given.get(keys.keys) ?? keyFinderOf(keys.keys)
      given.set(keys.keys, finder)
      return finder
    },
  }
}

/** What manages trusted issuers. */
export function createTrustedIssuers(
  { database, publicKeys, replica, rows, baseUrl, tracing }: ServicesOptions,
  { fetches }: KeysOfIssuers,
): TrustedIssuers {
  const store = rows.around(tracing.calls('FederationStore', createFederationStore(database, publicKeys)))
  const newId = randomUUID
  return new TrustedIssuers({ store, replica, fetches, parseIssuerKeys, parseCaCertificates, newId, issuer: baseUrl })
}
