/** The metrics of this process. `metrics-server.ts` serves them, `docs/metrics.md` says what each one means. */
import { Counter, Histogram, Registry } from 'prom-client'
import type { WebhookStatus } from '../../app/events/webhook-status.ts'
import type { Replica } from '../../app/replica/replica.ts'
import type { CredentialCounts } from '../../domain/ports/identities.ts'
import { observing } from './observed-metrics.ts'
import { measureProcess } from './process-metrics.ts'
import { type DatabaseStatus, measureDatabase, measureReplica } from './replica-metrics.ts'
import { measureRequests } from './request-metrics.ts'

export type Metrics = ReturnType<typeof createMetrics>

export interface RotationStatus {
  readonly enabled: boolean
  /** How long the active key has been signing beyond the policy's interval, in seconds; 0 if it has not. */
  readonly overdueSeconds: number
  readonly failures: number
}

const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const { gauge, counter } = observing(registry)
  const requests = measureRequests(registry)
  const endProcess = measureProcess(registry)
  let isReady = () => false
  // Never missing: an alert would not fire.
  gauge('keyturn_replica_ready', 'Whether tokens can be issued and all that is known was taken over: 1 or 0.', {
    aggregator: 'min',
    read: () => isReady(),
  })
  const lag = new Histogram({
    name: 'keyturn_change_lag_seconds',
    help: 'Age of a change when this replica had taken it over.',
    buckets: LAG_BUCKETS,
    registers,
  })
  const issuerKeyFetches = new Counter({
    name: 'keyturn_issuer_key_fetches_total',
    help: 'Fetches of the keys of trusted issuers, by issuer and outcome.',
    // Administrators choose the names of issuers, and there are 50 at most.
    labelNames: ['issuer', 'outcome'],
    registers,
  })
  return {
    registry,
    /** Wraps the handler, to count requests in flight. Each request must be given to `recordRequest` as well. */
    around: requests.around,
    recordRequest: requests.record,
    /** Wraps the signers of a factory, to count tokens: only tokens are signed. */
    countTokens: requests.countTokens,
    /** The age of a change when this replica had applied it, in seconds. */
    recordChangeLag: (seconds: number) => lag.observe(Math.max(0, seconds)),
    countIssuerKeyFetch: (issuer: string, outcome: 'fetched' | 'failed') => {
      // Both series from the first fetch on: an increase is counted from a sample before it.
      for (const each of ['fetched', 'failed'])
        issuerKeyFetches.inc({ issuer, outcome: each }, each === outcome ? 1 : 0)
    },
    // Each of these registers metrics, and is called once. `now` is the time of the instance.
    observe: (replica: Replica, now: () => Date) => {
      isReady = () => replica.readiness().ready
      measureReplica(registry, replica, now)
    },
    observeDatabase: (status: DatabaseStatus) => measureDatabase(registry, status),
    observeRotation: (status: () => RotationStatus) => {
      gauge('keyturn_rotation_enabled', 'Whether web keys rotate by themselves: 1 or 0.', {
        read: () => status().enabled,
      })
      const overdue = 'Time for which the active web key has been signing longer than the rotation policy says.'
      gauge('keyturn_rotation_overdue_seconds', overdue, { read: () => status().overdueSeconds })
      counter('keyturn_rotation_failures_total', 'Steps of the rotation that failed.', {
        read: () => status().failures,
      })
    },
    /** No label names a user. @param counts Undefined: not known yet. */
    observeCredentials: (counts: () => CredentialCounts | undefined) => {
      const expiring =
        'Credentials of enabled users that expire within so many days; client secrets only if they were used in the last 30 days.'
      gauge('keyturn_expiring_credentials', expiring, {
        labelNames: ['kind', 'within_days'],
        read: () =>
          (counts()?.expiring ?? []).map(({ kind, withinDays, count }) => ({
            labels: { kind, within_days: String(withinDays) },
            value: count,
          })),
      })
      const unused = 'Client secrets of enabled users that work and were not used for 90 days.'
      gauge('keyturn_unused_client_secrets', unused, { read: () => counts()?.unusedSecrets ?? [] })
    },
    /** The label is the name of a webhook: administrators choose them, and there are 20 at most. */
    observeWebhooks: (status: () => WebhookStatus) => {
      const deliveries = 'Attempts to deliver an event to a webhook, by outcome.'
      counter('keyturn_webhook_deliveries_total', deliveries, {
        labelNames: ['outcome'],
        read: () => Object.entries(status().attempts).map(([outcome, value]) => ({ labels: { outcome }, value })),
      })
      const behind = 'Time since the event happened that waits longest for a webhook; 0 if none waits.'
      gauge('keyturn_webhook_behind_seconds', behind, {
        labelNames: ['webhook'],
        read: () =>
          status().webhooks.map(({ name, behindSeconds }) => ({ labels: { webhook: name }, value: behindSeconds })),
      })
      const waiting =
        'Events that waited for a webhook at its last failed attempt, among the 1000 after the last delivered one.'
      gauge('keyturn_webhook_behind_events', waiting, {
        labelNames: ['webhook'],
        read: () => status().webhooks.map(({ name, waiting }) => ({ labels: { webhook: name }, value: waiting })),
      })
    },
    observeConnections: (count: () => number) =>
      gauge('keyturn_http_connections', 'Open connections of clients.', { aggregator: 'sum', read: count }),
    stop: endProcess,
  }
}
