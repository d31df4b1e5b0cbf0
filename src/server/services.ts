/**
 * Makes the OAuth endpoints and the RPC services, with their background tasks.
 */

import { hash, randomUUID } from 'node:crypto'
import { Access } from '../app/access/access.ts'
import type { AttemptLimiter } from '../app/access/attempt-limiter.ts'
import { Dpop } from '../app/access/dpop.ts'
import { Introspection } from '../app/access/introspection.ts'
import type { AuditFeed } from '../app/audit/audit-feed.ts'
import { startAuditRetention } from '../app/audit/audit-retention.ts'
import { AuditTrail } from '../app/audit/audit-trail.ts'
import { Configurations } from '../app/configuration/configurations.ts'
import { WebhookAttempts } from '../app/events/webhook-attempts.ts'
import { WebhookDeliverer } from '../app/events/webhook-deliverer.ts'
import { Webhooks } from '../app/events/webhooks.ts'
import { FederatedIdentities } from '../app/federation/federated-identities.ts'
import { IssuerKeyRefresher } from '../app/federation/issuer-key-refresher.ts'
import { TrustedIssuers } from '../app/federation/trusted-issuers.ts'
import { ClientCertificates } from '../app/identities/client-certificates.ts'
import { Credentials } from '../app/identities/credentials.ts'
import { Projects } from '../app/identities/projects.ts'
import { SecretUses } from '../app/identities/secret-uses.ts'
import { ServiceUsers } from '../app/identities/service-users.ts'
import { TokenRevocations } from '../app/identities/token-revocations.ts'
import type { DecryptabilityCheck } from '../app/keys/decryptability-check.ts'
import { KeyRotation } from '../app/keys/key-rotation.ts'
import { Rotator } from '../app/keys/rotator.ts'
import { WebKeys } from '../app/keys/web-keys.ts'
import type { Replica } from '../app/replica/replica.ts'
import type { UnreadableRows } from '../app/replica/unreadable-rows.ts'
import type { Config } from '../config/config.ts'
import { createAccessTokenVerifier, createIssuedTokenVerifier } from '../crypto/access-token-verifier.ts'
import { createDpopProofVerifier } from '../crypto/dpop-proof.ts'
import { verifyFederatedToken } from '../crypto/federated-token.ts'
import { parseCaCertificates, parseIssuerKeys, parsePublishedKeys } from '../crypto/issuer-key.ts'
import type { MasterKeys } from '../crypto/master-keys.ts'
import { thumbprint } from '../crypto/public-key-macs.ts'
import { parseUserKeys } from '../crypto/user-key.ts'
import { createWebhookSigner } from '../crypto/webhook-signer.ts'
import type { ClientSecrets, ConsoleSecrets, DpopNonces, PublicKeyMacs } from '../domain/integrity.ts'
import type { OpenIdProvider } from '../domain/ports/console.ts'
import type { KeyPairGenerator } from '../domain/ports/keys.ts'
import type { Log, Readiness, RequestContext } from '../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../domain/ports/verification.ts'
import { openApiDocument } from '../oauth/documents/openapi.ts'
import { publishDocument } from '../oauth/documents/published-document.ts'
import { createOAuthRoutes, type OAuthRoutes } from '../oauth/routes.ts'
import { TokenService } from '../oauth/token-service.ts'
import { createAddressPolicy } from '../outbound/address-policy.ts'
import { createGetDocument } from '../outbound/https-document.ts'
import { createSendHttps } from '../outbound/https-request.ts'
import { createIssuerKeyFetcher } from '../outbound/issuer-key-fetcher.ts'
import { createWebhookSender } from '../outbound/webhook-sender.ts'
import { createRpcRoutes, type RpcRoutes } from '../rpc/routes.ts'
import { createAuditLog } from '../storage/audit/audit-log.ts'
import { createAuditReader } from '../storage/audit/audit-reader.ts'
import { createConfigurationStore } from '../storage/configuration/configuration-store.ts'
import { createWebhookStore } from '../storage/events/webhook-store.ts'
import { createFederationStore } from '../storage/federation/federation-store.ts'
import { createIssuerKeyStore } from '../storage/federation/issuer-key-store.ts'
import { createCredentialUses } from '../storage/identities/credential-uses.ts'
import { createIdentityStore } from '../storage/identities/identity-store.ts'
import { createInstanceReader } from '../storage/instance/instance-reader.ts'
import { createKeyStore } from '../storage/keys/key-store.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import type { Tracing } from '../telemetry/tracing/tracing.ts'
import type { CleanupStack } from './cleanup-stack.ts'
import { createConsole } from './console.ts'
import { startInstanceParts } from './instance.ts'
import { type RecordingOptions, recording } from './recording.ts'
import { systemClock } from './system-clock.ts'

/** What the services share. */
export interface ServicesOptions extends RecordingOptions {
  readonly config: Config
  readonly log: Log
  /** Stops what runs in the background. */
  readonly stack: CleanupStack
  readonly generator: KeyPairGenerator
  readonly secrets: ClientSecrets
  /** The MACs of the public keys in the database. */
  readonly publicKeys: PublicKeyMacs
  readonly dpopNonces: DpopNonces
  readonly consoleSecrets: ConsoleSecrets
  /** Null: there is none. */
  readonly openIdProvider: OpenIdProvider | null
  /** The configured ones. */
  readonly masterKeys: MasterKeys
  readonly replica: Replica
  readonly decryptability: DecryptabilityCheck
  /** Handles rows that cannot be read, except those that the replica reads. */
  readonly rows: UnreadableRows
  /** Whether this replica can serve. */
  readonly readiness: () => Readiness
  /** How far the clock of the database is ahead of that of this machine. */
  readonly clockOffsetSeconds: () => number
  /** The time of the instance. */
  readonly now: () => Date
  /** The date that a change would get now. */
  readonly changeTime: () => Date
  /** The base URL: the issuer of tokens, and the audience of those for the API. */
  readonly baseUrl: string
  readonly tracing: Pick<Tracing, 'calls'>
  readonly metrics: Pick<
    Metrics,
    'observeRotation' | 'observeIssuerKeys' | 'observeCredentials' | 'observeWebhooks' | 'observeAuditExport'
  >
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
  /** The context of each request. */
  readonly contexts: RequestContext
  readonly audit: AuditTrail
  readonly auditFeed: AuditFeed
  /** Undefined: certificates of clients do not count. */
  readonly certificates: ClientCertificateVerifier | undefined
  /** The rate limiter of failed attempts, shared by the token endpoint and the API: an address has one budget. */
  readonly attempts: AttemptLimiter
}

/** The audit trail and its retention. It is stopped after all services. */
export function createAuditTrail(options: Omit<ServicesOptions, 'audit' | 'auditFeed'>): AuditTrail {
  const { config, log, stack, database, replica, now, tracing } = options
  const { refuse } = recording(options, createAuditLog)
  const events = tracing.calls('AuditLog', { ...createAuditLog(database), refuse })
  const audit = new AuditTrail({ events, clock: systemClock, now, log })
  stack.defer(() => audit.stop())
  const retention = { events, clock: systemClock, now, log, days: config.auditRetentionDays }
  stack.defer(startAuditRetention({ ...retention, isWritable: () => replica.isWritable() }))
  return audit
}

/** What verifies DPoP proofs. Each proof is accepted once, at the token endpoint or at the API. */
function createDpop(options: ServicesOptions): Dpop {
  const { dpopNonces, now, baseUrl, tracing } = options
  return new Dpop({
    baseUrl,
    verifier: createDpopProofVerifier(),
    nonces: dpopNonces,
    uses: tracing.calls('CredentialUses', recording(options, createCredentialUses)),
    digest: sha256,
    now,
  })
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** What fetches the keys of trusted issuers. It runs apart from requests. */
function startIssuerKeyRefresher({
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

/** What manages webhooks, and delivers events to them. Delivery runs apart from requests. */
function startWebhooks(options: ServicesOptions): Webhooks {
  const { config, log, stack, database, masterKeys, replica, rows, now, baseUrl, tracing, metrics } = options
  const store = rows.around(createWebhookStore(database))
  const reader = createAuditReader(database)
  const signer = createWebhookSigner(masterKeys)
  const send = createSendHttps({
    allows: createAddressPolicy(config.outboundNetworks),
    setting: 'KEYTURN_OUTBOUND_NETWORKS',
    authorityHint: '--receiver-ca, ca_certificates',
  })
  const attempts = new WebhookAttempts({ signer, sender: createWebhookSender(send), issuer: baseUrl, now, log })
  const newId = randomUUID
  const version = () => replica.status().version
  const clock = systemClock
  const deliverer = new WebhookDeliverer({ store, reader, attempts, replica, version, clock, now, newId, log })
  stack.defer(() => deliverer.stop())
  deliverer.start()
  metrics.observeWebhooks(() => deliverer.status)
  const calls = rows.around(tracing.calls('WebhookStore', createWebhookStore(database)))
  return new Webhooks({ store: calls, reader, signer, attempts, replica, parseCaCertificates, newId, now })
}

function createIntrospection({ replica, baseUrl, now }: ServicesOptions): Introspection {
  return new Introspection({ replica, verifier: createIssuedTokenVerifier({ issuer: baseUrl, now }), now })
}

/** The OAuth endpoints, always with the newest key ring of the replica. */
export function createTokenEndpoints(options: ServicesOptions): OAuthRoutes {
  const { config, log, stack, database, publicKeys, secrets, replica, rows, records, now, baseUrl } = options
  const { tracing, contexts, audit, attempts, certificates } = options
  const refresher = startIssuerKeyRefresher(options)
  const uses = recording(options, createCredentialUses)
  const store = rows.around(tracing.calls('IdentityStore', createIdentityStore(database, publicKeys)))
  const secretUses = new SecretUses({ store: uses, canWrite: records.isOpen, clock: systemClock, log })
  stack.defer(() => secretUses.stop())

  const service = new TokenService({
    issuer: baseUrl,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
    assertionAudience: config.assertionAudience,
    ...(certificates === undefined ? {} : { certificates }),
    acceptsZitadelScopes: config.zitadelApi,
    now,
    directory: {
      recallServiceUser: (userId) => replica.recallServiceUser(userId),
      readServiceUser: (userId) => replica.readServiceUser(userId),
      secrets,
    },
    introspection: createIntrospection(options),
    revocations: new TokenRevocations({ store, replica }),
    federation: {
      verify: (assertion, issuers) => verifyFederatedToken(assertion, issuers, now()),
      trustedIssuers: () => replica.trustedIssuers(),
      confirm: () => replica.confirm(),
      wantKeys: (issuerId) => refresher.want(issuerId),
      recallUsers: (subject) => replica.recallFederatedUsers(subject),
      readUsers: (subject) => replica.readFederatedUsers(subject),
    },
    assertions: tracing.calls('CredentialUses', uses),
    dpop: createDpop(options),
    attempts,
    secretUses,
    audit,
    contexts,
    log,
  })
  replica.onKeys((snapshot) => service.switchTo(snapshot))
  const { jwksMaxAgeSeconds } = config
  return createOAuthRoutes({
    service,
    openApi: publishDocument(
      openApiDocument(baseUrl, { servesDeprecated: config.betaApi, servesConsole: config.console }),
    ),
    jwksMaxAgeSeconds,
    isFresh: () => replica.isFresh(),
    stalenessSeconds: () => replica.stalenessSeconds,
    contexts,
  })
}

/** The services that administer the instance. */
export function createApi(options: ServicesOptions): RpcRoutes {
  const { config, log, stack, database, publicKeys, generator, secrets, replica, decryptability, rows, now, baseUrl } =
    options
  const { changeTime, tracing, metrics, contexts, audit, attempts } = options
  const store = rows.around(tracing.calls('IdentityStore', createIdentityStore(database, publicKeys)))
  const issuers = rows.around(tracing.calls('FederationStore', createFederationStore(database, publicKeys)))
  const configurations = rows.around(
    tracing.calls('ConfigurationStore', createConfigurationStore(database, publicKeys)),
  )
  const keys = rows.around(tracing.calls('KeyStore', createKeyStore(database, publicKeys)))
  // On the connections for administration, not on those that serve tokens.
  const reader = rows.around(tracing.calls('InstanceReader', createInstanceReader(database, publicKeys)))
  const { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys } = config
  const limits = { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys }
  const rotator = new Rotator({
    store: keys,
    generator,
    replica,
    decryptability,
    limits,
    clock: systemClock,
    now,
    changeTime,
    audit,
    log,
  })
  stack.defer(() => rotator.stop())
  rotator.start()
  metrics.observeRotation(() => rotator.status)

  return createRpcRoutes({
    rotation: new KeyRotation({
      store: keys,
      reader,
      generator,
      replica,
      decryptability,
      limits,
      now: changeTime,
      log,
    }),
    servesDeprecated: config.betaApi,
    servesZitadel: config.zitadelApi,
    configurations: new Configurations({
      store: configurations,
      replica,
      parseUserKeys,
      parseIssuerKeys,
      parseCaCertificates,
      newId: randomUUID,
      thumbprintOf: thumbprint,
      issuer: baseUrl,
      limits,
      log,
    }),
    ...startInstanceParts(options),
    console: createConsole(options),
    baseUrl,
    webKeys: new WebKeys({
      store: keys,
      reader,
      generator,
      replica,
      decryptability,
      log,
      activation: { guard: config.activationGuard, jwksMaxAgeSeconds },
      maxWebKeys,
    }),
    projects: new Projects({ store, replica, newId: randomUUID, issuer: baseUrl }),
    users: new ServiceUsers({ store, replica, newId: randomUUID, tokenLifetimeSeconds }),
    credentials: new Credentials({
      store,
      replica,
      secrets,
      parseUserKeys,
      maxTokenLifetimeDays: config.maxPatLifetimeDays,
      newId: randomUUID,
      clock: systemClock,
    }),
    introspection: createIntrospection(options),
    certificates: new ClientCertificates({ store, replica, newId: randomUUID }),
    trustedIssuers: new TrustedIssuers({
      store: issuers,
      replica,
      parseIssuerKeys,
      parseCaCertificates,
      newId: randomUUID,
      issuer: baseUrl,
    }),
    federatedIdentities: new FederatedIdentities({ store, replica, newId: randomUUID }),
    webhooks: startWebhooks(options),
    audit,
    auditFeed: options.auditFeed,
    stopping: options.stopping,
    access: new Access({
      replica,
      verifier: createAccessTokenVerifier({ issuer: baseUrl, audience: baseUrl, now }),
      store,
      secrets,
      attempts,
      dpop: createDpop(options),
      digest: sha256,
      now,
    }),
    assertPrimary: () => replica.assertPrimary(),
    requestContext: contexts,
    log,
  })
}
