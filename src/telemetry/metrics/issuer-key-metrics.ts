/**
 * Metrics of the keys of trusted issuers that are fetched.
 */
import type { Registry } from 'prom-client'
import type { IssuerKeyStatus } from '../../app/federation/issuer-key-refresher.ts'
import { observeCounter, observeGauge } from './observed-metrics.ts'

/** Registers the metrics. The label is the name of an issuer: administrators choose them, and there are 50 at most. */
export function measureIssuerKeys(registry: Registry, status: () => IssuerKeyStatus): void {
  observeCounter(registry, {
    name: 'keyturn_issuer_key_fetches_total',
    help: 'Fetches of the keys of trusted issuers, by outcome.',
    labelNames: ['outcome'],
    read: () => Object.entries(status().fetches).map(([outcome, value]) => ({ labels: { outcome }, value })),
  })
  observeGauge(registry, {
    name: 'keyturn_issuer_keys_age_seconds',
    help: 'Time since the keys of a trusted issuer were last fetched.',
    labelNames: ['issuer'],
    read: () => status().issuers.map(({ issuer, ageSeconds }) => ({ labels: { issuer }, value: ageSeconds })),
  })
  observeGauge(registry, {
    name: 'keyturn_issuer_keys_max_staleness_seconds',
    help: 'Age at which the keys of a trusted issuer are not used any more.',
    labelNames: ['issuer'],
    read: () =>
      status().issuers.map(({ issuer, maxStalenessSeconds }) => ({ labels: { issuer }, value: maxStalenessSeconds })),
  })
}
