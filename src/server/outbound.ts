/** Makes what sends requests to other parties: it fetches the keys of trusted issuers, and delivers events to webhooks. */
import { randomUUID as newId } from 'node:crypto'
import { createWebhookAttempts } from '../app/events/webhook-attempts.ts'
import { WebhookDeliverer } from '../app/events/webhook-deliverer.ts'
import { createWebhooks, type Webhooks, type WebhooksOptions } from '../app/events/webhooks.ts'
import type { KeyFinder } from '../crypto/federated-token.ts'
import { keyFinderOf, parseCaCertificates, parsePublishedKeys } from '../crypto/issuer-key.ts'
import { createWebhookSigner } from '../crypto/webhook-signer.ts'
import type { IssuerKey, TrustedIssuer } from '../domain/federation/trusted-issuer.ts'
import { createAddressPolicy } from '../outbound/address-policy.ts'
import { FetchedIssuerKeys } from '../outbound/fetched-issuer-keys.ts'
import { createSendHttps } from '../outbound/https-request.ts'
import { createFetchIssuerKeys, createGetDocument } from '../outbound/issuer-key-fetch.ts'
import { createWebhookSender } from '../outbound/webhook-sender.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import type { StartedInstance, StartParts } from './instance-start.ts'
import { systemClock as clock, systemTime as now } from './system-clock.ts'

/** The keys that this process has fetched, and what finds the key of a JWT, of keys that are given or fetched. */
export function createIssuerKeys(
  { config: { issuerNetworks, outboundNetworks }, log }: Pick<StartParts, 'config' | 'log'>,
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

type WebhookParts = StartParts & StartedInstance & Pick<WebhooksOptions, 'store' | 'reader'>

export function startWebhooks(
  { config, log, stack, masterKeys, baseUrl: issuer, ...parts }: WebhookParts,
  metrics: Pick<Metrics, 'observeWebhooks'>,
): Webhooks {
  const { replica } = parts
  const signer = createWebhookSigner(masterKeys)
  const sendHttps = createSendHttps({
    allows: createAddressPolicy(config.outboundNetworks),
    setting: 'KEYTURN_OUTBOUND_NETWORKS',
    authorityHint: '--receiver-ca, ca_certificates',
  })
  const send = createWebhookAttempts({ signer, sender: createWebhookSender(sendHttps), issuer, now, log })
  const shared = { ...parts, send, newId, now }
  const deliverer = new WebhookDeliverer({ ...shared, version: () => replica.state.version, clock, log })
  stack.defer(() => deliverer.stop())
  deliverer.start()
  metrics.observeWebhooks(() => deliverer.status)
  return createWebhooks({ ...shared, signer, parseCaCertificates })
}
