/**
 * Metrics of the delivery of events to webhooks.
 */
import type { Registry } from 'prom-client'
import type { WebhookStatus } from '../../app/events/webhook-status.ts'
import { observeCounter, observeGauge } from './observed-metrics.ts'

/** Registers the metrics. The label is the name of a webhook: administrators choose them, and there are 20 at most. */
export function measureWebhooks(registry: Registry, status: () => WebhookStatus): void {
  observeCounter(registry, {
    name: 'keyturn_webhook_deliveries_total',
    help: 'Attempts to deliver an event to a webhook, by outcome.',
    labelNames: ['outcome'],
    read: () => Object.entries(status().attempts).map(([outcome, value]) => ({ labels: { outcome }, value })),
  })
  observeGauge(registry, {
    name: 'keyturn_webhook_behind_seconds',
    help: 'Time since the event happened that waits longest for a webhook; 0 if none waits.',
    labelNames: ['webhook'],
    read: () =>
      status().webhooks.map(({ name, behindSeconds }) => ({ labels: { webhook: name }, value: behindSeconds })),
  })
  observeGauge(registry, {
    name: 'keyturn_webhook_behind_events',
    help: 'Events that waited for a webhook at its last failed attempt, among the 1000 after the last delivered one.',
    labelNames: ['webhook'],
    read: () => status().webhooks.map(({ name, waiting }) => ({ labels: { webhook: name }, value: waiting })),
  })
}
