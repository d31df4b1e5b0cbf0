/**
 * Metrics of the rotation of keys.
 */
import type { Meter } from '@opentelemetry/api'

/** What is known of the rotation at a moment. */
export interface RotationStatus {
  readonly enabled: boolean
  /** How long the active key has been signing beyond the policy's interval, in seconds; 0 if it has not. */
  readonly overdueSeconds: number
  /** Steps that have failed in this process. */
  readonly failures: number
}

/** Makes the instruments. */
export function measureRotation(meter: Meter, status: () => RotationStatus): void {
  meter
    .createObservableGauge('keyturn_rotation_enabled', {
      description: 'Whether web keys rotate by themselves: 1 or 0.',
    })
    .addCallback((result) => result.observe(status().enabled ? 1 : 0))
  meter
    .createObservableGauge('keyturn_rotation_overdue_seconds', {
      description: 'Time for which the active web key has been signing longer than the rotation policy says.',
    })
    .addCallback((result) => result.observe(status().overdueSeconds))
  meter
    .createObservableCounter('keyturn_rotation_failures_total', {
      description: 'Steps of the rotation that failed.',
    })
    .addCallback((result) => result.observe(status().failures))
}
