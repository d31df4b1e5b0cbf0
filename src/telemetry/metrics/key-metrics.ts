/**
 * Metrics of the key ring that this replica serves.
 */
import type { Registry } from 'prom-client'
import type { KeySnapshot } from '../../app/keys/live-key-ring.ts'
import { activeKey } from '../../domain/keys/key-ring.ts'
import type { WebKeyState } from '../../domain/keys/web-key.ts'
import { observeGauge } from './observed-metrics.ts'

/** Where the key ring comes from. */
export interface KeySource {
  onKeys(listener: (snapshot: KeySnapshot) => void): void
}

const STATES: readonly WebKeyState[] = ['initial', 'active', 'inactive']

/** Registers the metrics. @param now The time of the instance, which dates the keys. */
export function measureKeys(registry: Registry, source: KeySource, now: () => Date): void {
  let snapshot: KeySnapshot = { ring: [], signer: null }
  source.onKeys((newest) => {
    snapshot = newest
  })
  observeGauge(registry, {
    name: 'keyturn_web_keys',
    help: 'Web keys by state.',
    labelNames: ['state'],
    read: () =>
      STATES.map((state) => ({ labels: { state }, value: snapshot.ring.filter((key) => key.state === state).length })),
  })
  observeGauge(registry, {
    name: 'keyturn_active_key_age_seconds',
    help: 'Time since the active web key was activated.',
    labelNames: ['algorithm'],
    read: () => {
      const active = activeKey(snapshot.ring)
      if (active === undefined) return []
      // The clock of the instance is known to some milliseconds.
      const ageSeconds = Math.max(0, (now().getTime() - active.activatedAt.getTime()) / 1000)
      return [{ labels: { algorithm: active.algorithm }, value: ageSeconds }]
    },
  })
  observeGauge(registry, {
    name: 'keyturn_can_sign',
    help: 'Whether there is an active web key whose private key is open: 1 or 0.',
    aggregator: 'min',
    read: () => (snapshot.signer === null ? 0 : 1),
  })
}
