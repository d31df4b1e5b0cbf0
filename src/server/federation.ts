/** Makes what finds the keys of trusted issuers. */
import type { Config } from '../config/config.ts'
import type { KeyFinder } from '../crypto/federated-token.ts'
import { keyFinderOf, parsePublishedKeys } from '../crypto/issuer-key.ts'
import type { IssuerKey, TrustedIssuer } from '../domain/federation/trusted-issuer.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { createAddressPolicy } from '../outbound/address-policy.ts'
import { FetchedIssuerKeys } from '../outbound/fetched-issuer-keys.ts'
import { createFetchIssuerKeys, createGetDocument } from '../outbound/issuer-key-fetch.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'

/** The keys that this process has fetched, and what finds the key of a JWT, of keys that are given or fetched. */
export function createIssuerKeys(
  { issuerNetworks, outboundNetworks }: Config,
  log: Log,
  metrics: Pick<Metrics, 'countIssuerKeyFetch'>,
): { readonly fetches: FetchedIssuerKeys; readonly finderOf: (issuer: TrustedIssuer) => KeyFinder } {
  const allows = createAddressPolicy([...issuerNetworks, ...outboundNetworks])
  const get = createGetDocument({ allows, setting: 'KEYTURN_ISSUER_NETWORKS' })
  const fetch = createFetchIssuerKeys({ get, parseKeys: parsePublishedKeys })
  const fetches = new FetchedIssuerKeys({ fetch, log, onFetch: metrics.countIssuerKeyFetch })
  // With a finder of its own for each JWT, a key would be imported for each.
  const given = new WeakMap<readonly IssuerKey[], KeyFinder>()
  const finderOf = ({ issuerId, issuer, keys }: TrustedIssuer): KeyFinder => {
    if (keys.kind === 'fetched') return fetches.finderOf({ issuerId, issuer, source: keys.source })
    const finder = given.get(keys.keys) ?? keyFinderOf(keys.keys)
    given.set(keys.keys, finder)
    return finder
  }
  return { fetches, finderOf }
}
