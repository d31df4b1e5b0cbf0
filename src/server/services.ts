/** Makes the OAuth endpoints and the RPC services, with their stores and what they do in the background. */
import { randomUUID as newId } from 'node:crypto'
import { hostname } from 'node:os'
import { Access } from '../app/access/access.ts'
import { AttemptLimiter } from '../app/access/attempt-limiter.ts'
import { createDpop } from '../app/access/dpop.ts'
import { createIntrospection } from '../app/access/introspection.ts'
import { createAuditFeed } from '../app/audit/audit-feed.ts'
import { startAuditRetention } from '../app/audit/audit-retention.ts'
import { AuditTrail } from '../app/audit/audit-trail.ts'
import { Configurations } from '../app/configuration/configurations.ts'
import { createTrustedIssuers } from '../app/federation/trusted-issuers.ts'
import { watchCredentials } from '../app/identities/credential-watch.ts'
import { createCredentials } from '../app/identities/credentials.ts'
import { createProjects } from '../app/identities/projects.ts'
import { SecretUses } from '../app/identities/secret-uses.ts'
import { createServiceUsers } from '../app/identities/service-users.ts'
import { createTokenRevocations } from '../app/identities/token-revocations.ts'
import { createInstanceOverview } from '../app/instance/instance-overview.ts'
import { startRotator } from '../app/keys/rotator.ts'
import { createWebKeys } from '../app/keys/web-keys.ts'
import { startHeartbeats } from '../app/replica/heartbeats.ts'
import { recordingStore } from '../app/replica/recording-store.ts'
import { readVersion } from '../config/version.ts'
import { createAccessTokenVerifier } from '../crypto/access-token-verifier.ts'
import { createDpopProofVerifier } from '../crypto/dpop-proof.ts'
import { verifyFederatedToken } from '../crypto/federated-token.ts'
import { parseCaCertificates, parseIssuerKeys } from '../crypto/issuer-key.ts'
import { createKeyResealer } from '../crypto/sealed-key.ts'
import { parseUserKeys } from '../crypto/user-key.ts'
import type { OpenIdProvider } from '../domain/ports/console.ts'
import type { RequestContext } from '../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../domain/ports/verification.ts'
import { publishDocument } from '../oauth/documents/jwks.ts'
import { openApiDocument } from '../oauth/documents/openapi.ts'
import { createOAuth } from '../oauth/routes.ts'
import { createRpcRoutes } from '../rpc/routes.ts'
import { createAuditReader } from '../storage/audit/audit-reader.ts'
import { createConfigurationStore } from '../storage/configuration/configuration-store.ts'
import { createAuditLog } from '../storage/events/audit-log.ts'
import { createWebhookStore } from '../storage/events/webhook-store.ts'
import { createFederationStore } from '../storage/federation/federation-store.ts'
import { createCredentialExpiries } from '../storage/identities/credential-expiries.ts'
import { createCredentialUses } from '../storage/identities/credential-uses.ts'
import { createIdentityStore } from '../storage/identities/identity-store.ts'
import { createInstanceReader } from '../storage/instance/instance-reader.ts'
import { createReplicaStore } from '../storage/instance/replica-store.ts'
import { createKeyStore } from '../storage/keys/key-store.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import type { Database } from '../storage/postgres/database.ts'
import { readServerVersion } from '../storage/postgres/server-state.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import { planningOptions } from './bootstrap-file.ts'
import { createConsole } from './console.ts'
import type { StartedInstance, StartParts } from './instance-start.ts'
import { createIssuerKeys, startWebhooks } from './outbound.ts'
import type { Services } from './public-listener.ts'
import { systemClock as clock, digest, systemTime as now } from './system-clock.ts'

/** PostgreSQL takes no longer one. */
const MAX_HOST_NAME = 255

export interface ServicesOptions extends StartedInstance, StartParts {
  readonly metrics: Metrics
  /** Of the primary region, for a replica on a standby; null if none is configured. */
  readonly primaryDatabase: Database | null
  readonly openIdProvider: OpenIdProvider | null
  /** Undefined: certificates of clients do not count. */
  readonly certificates: ClientCertificateVerifier | undefined
  readonly contexts: RequestContext
  readonly stopping: AbortSignal
}

export function createServices(options: ServicesOptions): Pick<Services, 'oauth' | 'rpc'> {
  const { config, log, stack, database, primaryDatabase, baseUrl, metrics, tracing, contexts, stopping } = options
  const { replica, aroundRows, decryptability, masterKeys, generator, integrity, certificates } = options
  const { secrets, publicKeys, dpopNonces } = integrity
  const { jwksMaxAgeSeconds, tokenLifetimeSeconds } = config
  const issuer = baseUrl
  const planning = planningOptions(config, issuer)
  const { limits } = planning
  const isWritable = () => replica.isWritable()
  const port = <Port extends object>(name: string, made: Port): Port => aroundRows(tracing.calls(name, made))
  const canRecord = () => primaryDatabase !== null || !replica.isStandby()
  const recording = <Store extends object>(make: (database: Database) => Store): Store =>
    recordingStore(make(database), primaryDatabase === null ? null : make(primaryDatabase), () => replica.isStandby())

  // Stopped last: all others refuse until then.
  const events = { ...createAuditLog(database), refuse: recording(createAuditLog).refuse }
  const audit = new AuditTrail({ events: tracing.calls('AuditLog', events), clock, now, log })
  stack.defer(() => audit.stop())
  stack.defer(startAuditRetention({ events, isWritable, clock, now, log, days: config.auditRetentionDays }))
  const reader = createAuditReader(database)
  const auditFeed = createAuditFeed({
    reader: tracing.calls('AuditReader', reader),
    onChange: (listener) => replica.onChange(listener),
    clock,
  })

  const store = port('IdentityStore', createIdentityStore(database, publicKeys))
  const identities = { store, replica, newId }
  const watch = watchCredentials({ expiries: createCredentialExpiries(database), isWritable, clock, log })
  metrics.observeCredentials(watch.counts)
  stack.defer(watch.stop)

  // An address has one budget at the token endpoint and the API, and a proof is accepted once, whichever of them it comes to.
  const attempts = new AttemptLimiter({ clock })
  const uses = recording(createCredentialUses)
  const verifier = createDpopProofVerifier()
  const dpop = createDpop({ baseUrl, verifier, nonces: dpopNonces, uses, digest, now })
  const introspection = createIntrospection({ replica, verifier: createAccessTokenVerifier({ issuer, now }), now })
  const access = new Access({
    replica,
    verifier: createAccessTokenVerifier({ issuer, audience: baseUrl, now }),
    store,
    secrets: secrets.personalAccessTokens,
    attempts,
    dpop,
    digest,
    now,
  })

  // On the connections for administration, not on those that serve tokens.
  const keys = {
    store: port('KeyStore', createKeyStore(database, publicKeys)),
    reader: port('InstanceReader', createInstanceReader(database, publicKeys)),
    generator,
    replica,
    decryptability,
    log,
  }
  const rotator = startRotator({ ...keys, limits, clock, now, audit })
  stack.defer(rotator.stop)
  metrics.observeRotation(rotator.status)

  const { fetches, finderOf } = createIssuerKeys(options, metrics)
  const webhookStore = port('WebhookStore', createWebhookStore(database))
  const webhooks = startWebhooks({ ...options, reader, store: webhookStore }, metrics)

  const identity = {
    replicaId: newId(),
    hostName: ownNameOf(hostname()),
    keyturnVersion: readVersion(),
    startedAt: now(),
  }
  const readiness = () => replica.readiness()
  const heartbeats = startHeartbeats({
    store: recording(createReplicaStore),
    identity,
    replica,
    readiness,
    canWrite: () => replica.guard.isReachable() && canRecord(),
    clock,
    log,
  })
  stack.defer(heartbeats)

  const secretUses = new SecretUses({ store: uses, canWrite: canRecord, clock, log })
  stack.defer(() => secretUses.stop())

  const { routes: oauth, switchTo } = createOAuth({
    issuer,
    tokenLifetimeSeconds,
    assertionAudience: config.assertionAudience,
    ...(certificates === undefined ? {} : { certificates }),
    acceptsZitadelScopes: config.zitadelApi,
    now,
    replica,
    clientSecrets: secrets.clientSecrets,
    introspection,
    revocations: createTokenRevocations({ store, replica }),
    federation: {
      verify: (assertion, issuers) => verifyFederatedToken(assertion, { issuers, now: now(), finderOf }),
    },
    assertions: tracing.calls('CredentialUses', uses),
    dpop,
    attempts,
    secretUses,
    audit,
    contexts,
    log,
    openApi: publishDocument(
      openApiDocument(baseUrl, { servesDeprecated: config.betaApi, servesConsole: config.console }),
    ),
    jwksMaxAgeSeconds,
    isFresh: () => replica.guard.isFresh(),
    stalenessSeconds: () => replica.guard.stalenessSeconds,
  })
  switchTo(replica.state)
  replica.onChange(switchTo)

  const rpc = createRpcRoutes({
    webKeys: createWebKeys({ ...keys, activationGuard: config.activationGuard, limits, now }),
    configurations: new Configurations({
      ...planning,
      store: port('ConfigurationStore', createConfigurationStore(database, publicKeys)),
      replica,
      log,
    }),
    instance: createInstanceOverview({
      issuer,
      identity,
      replica,
      replicas: createReplicaStore(database),
      readiness,
      readServerVersion: () => readServerVersion(database),
      sealedKeys: aroundRows(createSealedKeyStore(database)),
      masterKeys: createKeyResealer(masterKeys),
      settings: config.shown,
      now,
    }),
    console: createConsole({ ...options, users: store, attempts, audit }),
    projects: createProjects({ ...identities, issuer }),
    users: createServiceUsers({ ...identities, tokenLifetimeSeconds }),
    credentials: createCredentials({
      ...identities,
      secrets,
      parseUserKeys,
      maxTokenLifetimeDays: config.maxPatLifetimeDays,
      clock,
    }),
    trustedIssuers: createTrustedIssuers({
      store: port('FederationStore', createFederationStore(database, publicKeys)),
      replica,
      fetches,
      parseIssuerKeys,
      parseCaCertificates,
      newId,
      issuer,
    }),
    webhooks,
    introspection,
    audit,
    auditFeed,
    access,
    assertPrimary: () => replica.assertPrimary(),
    servesDeprecated: config.betaApi,
    servesZitadel: config.zitadelApi,
    baseUrl,
    stopping,
    requestContext: contexts,
    log,
  })
  return { oauth, rpc }
}

/** A name that every machine has says nothing. */
function ownNameOf(hostName: string): string {
  return /^localhost(\.|$)/.test(hostName) ? '' : hostName.slice(0, MAX_HOST_NAME)
}
