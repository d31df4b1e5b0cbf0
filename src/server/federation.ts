/**
 * Makes what keeps trusted issuers, and what fetches their keys.
 */
import { randomUUID } from 'node:crypto'
import { IssuerKeyRefresher } from '../app/federation/issuer-key-refresher.ts'
import { TrustedIssuers } from '../app/federation/trusted-issuers.ts'
import { parseCaCertificates, parseIssuerKeys, parsePublishedKeys } from '../crypto/issuer-key.ts'
import { createAddressPolicy } from '../outbound/address-policy.ts'
import { createGetDocument } from '../outbound/https-document.ts'
import { createIssuerKeyFetcher } from '../outbound/issuer-key-fetcher.ts'
import { createFederationStore } from '../storage/federation/federation-store.ts'
import { createIssuerKeyStore } from '../storage/federation/issuer-key-store.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

/** What manages trusted issuers. */
export function createTrustedIssuers({
  database,
  publicKeys,
  replica,
  rows,
  baseUrl,
  tracing,
}: ServicesOptions): TrustedIssuers {
  const store = rows.around(tracing.calls('FederationStore', createFederationStore(database, publicKeys)))
  const newId = randomUUID
  return new TrustedIssuers({ store, replica, parseIssuerKeys, parseCaCertificates, newId, issuer: baseUrl })
}

/** What fetches the keys of trusted issuers. It runs apart from requests. */
export function startIssuerKeyRefresher({
  config,
  log,
  stack,
  database,
  publicKeys,
  replica,
  rows,
  now,
  metrics,
}: ServicesOptions): IssuerKeyRefresher {
  const allows = createAddressPolicy([...config.issuerNetworks, ...config.outboundNetworks])
  const get = createGetDocument({ allows, setting: 'KEYTURN_ISSUER_NETWORKS' })
  const refresher = new IssuerKeyRefresher({
    store: rows.around(createIssuerKeyStore(database, publicKeys)),
    fetcher: createIssuerKeyFetcher({ get, parseKeys: parsePublishedKeys }),
    replica,
    clock: systemClock,
    now,
    newId: randomUUID,
    log,
  })
  stack.defer(() => refresher.stop())
  refresher.start()
  metrics.observeIssuerKeys(() => refresher.status)
  return refresher
}
