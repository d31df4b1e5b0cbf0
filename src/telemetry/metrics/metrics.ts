/**
 * The metrics of this process. `metrics-server.ts` serves them, `docs/metrics.md` says what each one means.
 */
import { Registry } from 'prom-client'
import type { WebhookStatus } from '../../app/events/webhook-status.ts'
import type { IssuerKeyStatus } from '../../app/federation/issuer-key-refresher.ts'
import type { Replica } from '../../app/replica/replica.ts'
import type { CredentialCounts } from '../../domain/ports/credential-expiries.ts'
import type { SignerFactory } from '../../domain/ports/keys.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import { measureCredentials } from './credential-metrics.ts'
import { type DatabaseStatus, measureDatabase } from './database-metrics.ts'
import { measureIssuerKeys } from './issuer-key-metrics.ts'
import { measureKeys } from './key-metrics.ts'
import { observeGauge } from './observed-metrics.ts'
import { measureProcess } from './process-metrics.ts'
import { measureReplica } from './replica-metrics.ts'
import { type MeasuredRequest, measureRequests } from './request-metrics.ts'
import { measureRotation, type RotationStatus } from './rotation-metrics.ts'
import { measureWebhooks } from './webhook-metrics.ts'

/** The metrics of this process. */
export interface Metrics {
  /** Wraps the handler, to count requests in flight. Each request must be given to `recordRequest` as well. */
  around(handler: Handler): Handler
  recordRequest(request: MeasuredRequest): void
  /** Wraps the signers of a factory, to count tokens: only tokens are signed. */
  countTokens(signers: SignerFactory): SignerFactory
  /** The age of a change when this replica had applied it, in seconds. */
  recordChangeLag(seconds: number): void
  /** Registers the metrics of a replica. Once only. @param now The time of the instance. */
  observe(replica: Replica, now: () => Date): void
  /** Registers the metrics of the database. Once only. */
  observeDatabase(status: DatabaseStatus): void
  /** Registers the metrics of the rotation. Once only. */
  observeRotation(status: () => RotationStatus): void
  /** Registers the metrics of the keys of trusted issuers. Once only. */
  observeIssuerKeys(status: () => IssuerKeyStatus): void
  /** Registers the metrics of credentials. Once only. @param counts Undefined: not known yet. */
  observeCredentials(counts: () => CredentialCounts | undefined): void
  /** Registers the metrics of webhooks. Once only. */
  observeWebhooks(status: () => WebhookStatus): void
  /** Registers the gauge of the export of the audit trail. Once only. @param behindSeconds The age of the oldest event that is being sent. */
  observeAuditExport(behindSeconds: () => number): void
  /** Registers the gauge of open connections. Once only. */
  observeConnections(count: () => number): void
  /** Null: they are off. */
  readonly registry: Registry | null
  stop(): void
}

/** Metrics that are off. */
export const NO_METRICS: Metrics = {
  around: (handler) => handler,
  recordRequest: () => {},
  countTokens: (signers) => signers,
  recordChangeLag: () => {},
  observe: () => {},
  observeDatabase: () => {},
  observeRotation: () => {},
  observeIssuerKeys: () => {},
  observeCredentials: () => {},
  observeWebhooks: () => {},
  observeAuditExport: () => {},
  observeConnections: () => {},
  registry: null,
  stop: () => {},
}

/** Starts measuring. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const requests = measureRequests(registry)
  const database = measureDatabase(registry)
  const inMemory = measureReplica(registry)
  const endProcess = measureProcess(registry)
  return {
    around: requests.around,
    recordRequest: requests.record,
    countTokens: requests.countTokens,
    recordChangeLag: database.recordChangeLag,
    observe: (replica, now) => {
      measureKeys(registry, replica, now)
      inMemory.observe(replica)
    },
    observeDatabase: database.observe,
    observeRotation: (status) => measureRotation(registry, status),
    observeIssuerKeys: (status) => measureIssuerKeys(registry, status),
    observeCredentials: (counts) => measureCredentials(registry, counts),
    observeWebhooks: (status) => measureWebhooks(registry, status),
    observeAuditExport: (behindSeconds) =>
      observeGauge(registry, {
        name: 'keyturn_audit_export_behind_seconds',
        help: 'Age of the oldest audit event that this process is sending to the collector; 0 if it sends none.',
        read: behindSeconds,
      }),
    observeConnections: (count) =>
      observeGauge(registry, {
        name: 'keyturn_http_connections',
        help: 'Open connections of clients.',
        aggregator: 'sum',
        read: count,
      }),
    registry,
    stop: endProcess,
  }
}
