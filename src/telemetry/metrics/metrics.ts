/** The metrics of this process. `metrics-server.ts` serves them, `docs/metrics.md` says what each one means. */
import { Registry } from 'prom-client'
import type { WebhookStatus } from '../../app/events/webhook-deliverer.ts'
import type { RotationStatus } from '../../app/keys/rotator.ts'
import type { CredentialCounts } from '../../domain/ports/identities.ts'
import { metricsIn } from './instruments.ts'
import { measureProcess } from './process-metrics.ts'
import { measureReplica, type ObservedReplica } from './replica-metrics.ts'
import { measureRequests } from './request-metrics.ts'

export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics() {
  const registry = new Registry()
  const { gauge, counter, countEvents } = metricsIn(registry)
  const { around, record, signsWith } = measureRequests(registry)
  const endProcess = measureProcess(registry)
  let isReady = () => false
  // Never missing: an alert would not fire.
  gauge('keyturn_replica_ready', 'Whether tokens can be issued and all that is known was taken over: 1 or 0.', {
    aggregator: 'min',
    read: () => isReady(),
  })
  const fetches = 'Fetches of the keys of trusted issuers, by issuer and outcome.'
  // Administrators choose the names of issuers, and there are 50 at most.
  const issuerKeyFetches = countEvents('keyturn_issuer_key_fetches_total', fetches, ['issuer', 'outcome'])
  return {
    registry,
    /** Wraps the handler, to count requests in flight. Each request must be given to `recordRequest` as well. */
    around,
    recordRequest: record,
    countIssuerKeyFetch: (issuer: string, outcome: 'fetched' | 'failed') => {
      // Both series from the first fetch on: an increase is counted from a sample before it.
      for (const each of ['fetched', 'failed'])
        issuerKeyFetches.inc({ issuer, outcome: each }, each === outcome ? 1 : 0)
    },
    // Each of these registers metrics, and is called once.
    observe: (observed: ObservedReplica) => {
      const { replica } = observed
      isReady = () => replica.readiness().ready
      signsWith(replica.state)
      replica.onChange(signsWith)
      measureReplica(registry, observed)
    },
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
      const byWebhook = (value: (webhook: WebhookStatus['webhooks'][number]) => number) => () =>
        Object.fromEntries(status().webhooks.map((webhook) => [webhook.name, value(webhook)]))
      const deliveries = 'Attempts to deliver an event to a webhook, by outcome.'
      counter('keyturn_webhook_deliveries_total', deliveries, {
        labelNames: ['outcome'],
        read: () => ({ ...status().attempts }),
      })
      const behind = 'Time since the event happened that a webhook could not be sent yet; 0 if there is none.'
      gauge('keyturn_webhook_behind_seconds', behind, {
        labelNames: ['webhook'],
        read: byWebhook(({ behindSeconds }) => behindSeconds),
      })
      const waiting =
        'Events that waited for a webhook at its last failed attempt, among the 1000 after the last delivered one.'
      gauge('keyturn_webhook_behind_events', waiting, {
        labelNames: ['webhook'],
        read: byWebhook(({ waiting }) => waiting),
      })
    },
    stop: endProcess,
  }
}
