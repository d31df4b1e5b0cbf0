/**
 * The metrics of this process. `metrics-server.ts` serves them, `docs/metrics.md` says what each one means.
 */
import { Counter, Registry } from 'prom-client'
import type { WebhookStatus } from '../../app/events/webhook-status.ts'
import type { Replica } from '../../app/replica/replica.ts'
import type { CredentialCounts } from '../../domain/ports/credential-expiries.ts'
import { measureCredentials } from './credential-metrics.ts'
import { measureDatabase } from './database-metrics.ts'
import { measureKeys } from './key-metrics.ts'
import { observeGauge } from './observed-metrics.ts'
import { measureProcess } from './process-metrics.ts'
import { measureReplica } from './replica-metrics.ts'
import { measureRequests } from './request-metrics.ts'
import { measureRotation, type RotationStatus } from './rotation-metrics.ts'
import { measureWebhooks } from './webhook-metrics.ts'

/** The metrics of this process. */
export type Metrics = ReturnType<typeof createMetrics>

/** Starts measuring. */
export function createMetrics() {
  const registry = new Registry()
  const requests = measureRequests(registry)
  const database = measureDatabase(registry)
  const inMemory = measureReplica(registry)
  const endProcess = measureProcess(registry)
  const issuerKeyFetches = new Counter({
    name: 'keyturn_issuer_key_fetches_total',
    help: 'Fetches of the keys of trusted issuers, by issuer and outcome.',
    // Administrators choose the names of issuers, and there are 50 at most.
    labelNames: ['issuer', 'outcome'],
    registers: [registry],
  })
  return {
    registry,
    /** Wraps the handler, to count requests in flight. Each request must be given to `recordRequest` as well. */
    around: requests.around,
    recordRequest: requests.record,
    /** Wraps the signers of a factory, to count tokens: only tokens are signed. */
    countTokens: requests.countTokens,
    /** The age of a change when this replica had applied it, in seconds. */
    recordChangeLag: database.recordChangeLag,
    // Each of these registers metrics, and is called once. `now` is the time of the instance.
    observe: (replica: Replica, now: () => Date) => {
      measureKeys(registry, replica, now)
      inMemory.observe(replica)
    },
    observeDatabase: database.observe,
    observeRotation: (status: () => RotationStatus) => measureRotation(registry, status),
    countIssuerKeyFetch: (issuer: string, outcome: 'fetched' | 'failed') => {
      // Both series from the first fetch on: an increase is counted from a sample before it.
      for (const each of ['fetched', 'failed'])
        issuerKeyFetches.inc({ issuer, outcome: each }, each === outcome ? 1 : 0)
    },
    /** @param counts Undefined: not known yet. */
    observeCredentials: (counts: () => CredentialCounts | undefined) => measureCredentials(registry, counts),
    observeWebhooks: (status: () => WebhookStatus) => measureWebhooks(registry, status),
    observeConnections: (count: () => number) =>
      observeGauge(registry, {
        name: 'keyturn_http_connections',
        help: 'Open connections of clients.',
        aggregator: 'sum',
        read: count,
      }),
    stop: endProcess,
  }
}
