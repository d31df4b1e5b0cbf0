/**
 * Metrics of the key ring that this replica serves.
 */
import type { Meter } from '@opentelemetry/api'
import type { KeySnapshot } from '../../app/keys/live-key-ring.ts'
import { activeKey } from '../../domain/keys/key-ring.ts'
import type { WebKeyState } from '../../domain/keys/web-key.ts'

/** Whose keys are measured. */
export interface KeySource {
  onKeys(listener: (snapshot: KeySnapshot) => void): () => void
}

const STATES: readonly WebKeyState[] = ['initial', 'active', 'inactive']

/** Makes the instruments. @param now The time of the instance, which dates the keys. */
export function measureKeys(meter: Meter, source: KeySource, now: () => Date): void {
  let snapshot: KeySnapshot = { ring: [], signer: null }
  source.onKeys((newest) => {
    snapshot = newest
  })
  meter.createObservableGauge('keyturn_web_keys', { description: 'Web keys by state.' }).addCallback((result) => {
    for (const state of STATES) result.observe(snapshot.ring.filter((key) => key.state === state).length, { state })
  })
  meter
    .createObservableGauge('keyturn_active_key_age_seconds', {
      description: 'Time since the active web key was activated.',
    })
    .addCallback((result) => {
      const active = activeKey(snapshot.ring)
      if (active === undefined) return
      // The clock of the instance is known to some milliseconds.
      const ageSeconds = Math.max(0, (now().getTime() - active.activatedAt.getTime()) / 1000)
      result.observe(ageSeconds, { algorithm: active.algorithm })
    })
  meter
    .createObservableGauge('keyturn_can_sign', {
      description: 'Whether there is an active web key whose private key is open: 1 or 0.',
    })
    .addCallback((result) => result.observe(snapshot.signer === null ? 0 : 1))
}
