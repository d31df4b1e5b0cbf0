/**
 * Metrics of the rotation of keys.
 */
import type { Registry } from 'prom-client'
import { observeCounter, observeGauge } from './observed-metrics.ts'

/** The state of the rotation at a moment. */
export interface RotationStatus {
  readonly enabled: boolean
  /** How long the active key has been signing beyond the policy's interval, in seconds; 0 if it has not. */
  readonly overdueSeconds: number
  /** Steps that have failed in this process. */
  readonly failures: number
}

/** Registers the metrics. */
export function measureRotation(registry: Registry, status: () => RotationStatus): void {
  observeGauge(registry, {
    name: 'keyturn_rotation_enabled',
    help: 'Whether web keys rotate by themselves: 1 or 0.',
    read: () => (status().enabled ? 1 : 0),
  })
  observeGauge(registry, {
    name: 'keyturn_rotation_overdue_seconds',
    help: 'Time for which the active web key has been signing longer than the rotation policy says.',
    read: () => status().overdueSeconds,
  })
  observeCounter(registry, {
    name: 'keyturn_rotation_failures_total',
    help: 'Steps of the rotation that failed.',
    read: () => status().failures,
  })
}
