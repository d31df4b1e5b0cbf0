/**
 * Makes the OAuth endpoints and the RPC services, with their background tasks.
 */
import type { AttemptLimiter } from '../app/access/attempt-limiter.ts'
import { Introspection } from '../app/access/introspection.ts'
import type { AuditFeed } from '../app/audit/audit-feed.ts'
import type { AuditTrail } from '../app/audit/audit-trail.ts'
import type { DecryptabilityCheck } from '../app/keys/decryptability-check.ts'
import type { Replica } from '../app/replica/replica.ts'
import type { UnreadableRows } from '../app/replica/unreadable-rows.ts'
import type { Config } from '../config/config.ts'
import { createAccessTokenVerifier } from '../crypto/access-token-verifier.ts'
import type { MasterKeys } from '../crypto/master-keys.ts'
import type { ClientSecrets, ConsoleSecrets, DpopNonces, PublicKeyMacs } from '../domain/integrity.ts'
import type { OpenIdProvider } from '../domain/ports/console.ts'
import type { KeyPairGenerator } from '../domain/ports/keys.ts'
import type { Log, Readiness, RequestContext } from '../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../domain/ports/verification.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import type { Tracing } from '../telemetry/tracing/tracing.ts'
import { createApi } from './api.ts'
import type { CleanupStack } from './cleanup-stack.ts'
import { createKeysOfIssuers, type KeysOfIssuers } from './federation.ts'
import type { RecordingOptions } from './recording.ts'
import type { Services } from './routing.ts'
import { createTokenEndpoints } from './token-endpoints.ts'

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
  /** The clock of this machine. */
  readonly now: () => Date
  /** The base URL: the issuer of tokens, and the audience of those for the API. */
  readonly baseUrl: string
  readonly tracing: Pick<Tracing, 'calls'>
  readonly metrics: Pick<Metrics, 'observeRotation' | 'countIssuerKeyFetch' | 'observeCredentials' | 'observeWebhooks'>
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

/** What the OAuth endpoints and the RPC services share. */
export interface SharedParts {
  readonly introspection: Introspection
  readonly keysOfIssuers: KeysOfIssuers
}

/** Makes the OAuth endpoints and the RPC services. */
export function createServices(options: ServicesOptions): Pick<Services, 'oauth' | 'rpc'> {
  const { replica, baseUrl, now } = options
  const introspection = new Introspection({
    replica,
    verifier: createAccessTokenVerifier({ issuer: baseUrl, now }),
    now,
  })
  const parts = { introspection, keysOfIssuers: createKeysOfIssuers(options) }
  return { oauth: createTokenEndpoints(options, parts), rpc: createApi(options, parts) }
}
