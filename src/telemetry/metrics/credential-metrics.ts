/**
 * Metrics of credentials that expire soon, or are not used any more.
 */
import type { Registry } from 'prom-client'
import type { CredentialCounts } from '../../domain/ports/credential-expiries.ts'
import { observeGauge } from './observed-metrics.ts'

/** Registers the metrics. No label names a user. */
export function measureCredentials(registry: Registry, counts: () => CredentialCounts | undefined): void {
  observeGauge(registry, {
    name: 'keyturn_expiring_credentials',
    help: 'Credentials of enabled users that expire within so many days; client secrets only if they were used in the last 30 days.',
    labelNames: ['kind', 'within_days'],
    read: () =>
      (counts()?.expiring ?? []).map(({ kind, withinDays, count }) => ({
        labels: { kind, within_days: String(withinDays) },
        value: count,
      })),
  })
  observeGauge(registry, {
    name: 'keyturn_unused_client_secrets',
    help: 'Client secrets of enabled users that work and were not used for 90 days.',
    read: () => {
      const known = counts()
      return known === undefined ? [] : [{ labels: {}, value: known.unusedSecrets }]
    },
  })
}
