/**
 * What this process measures, in the form that Prometheus scrapes. `metrics-server.ts` serves it.
 */
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { Replica } from '../app/replica.ts'
import type { WebKeyState } from '../domain/web-key.ts'
import type { Answered } from '../http/router.ts'

const STATES: readonly WebKeyState[] = ['initial', 'active', 'inactive']

/** The metrics of this process. */
export interface Metrics {
  recordRequest(answered: Answered): void
  /** Lets the metrics of the key ring be read from a replica. */
  observe(replica: Replica): void
  /** All of them as they are now, as text. */
  text(): Promise<string>
  stop(): Promise<void>
}

/** Measures nothing. */
export const NO_METRICS: Metrics = {
  recordRequest: () => {},
  observe: () => {},
  text: async () => '',
  stop: async () => {},
}

/** Starts measuring. */
export function createMetrics(): Metrics {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const serializer = new PrometheusSerializer(undefined, false, undefined, true)
  const provider = new MeterProvider({ readers: [exporter] })
  const meter = provider.getMeter('keyturn')
  const duration = meter.createHistogram('keyturn_request_duration_seconds', {
    description: 'Time to answer a request, by route and status.',
    unit: 's',
    advice: { explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] },
  })

  return {
    recordRequest: ({ route, status, seconds }) => duration.record(seconds, { route, status: String(status) }),
    observe: (replica) => {
      meter.createObservableGauge('keyturn_web_keys', { description: 'Web keys by state.' }).addCallback((result) => {
        const { ring } = replica.status()
        for (const state of STATES) result.observe(ring.filter((key) => key.state === state).length, { state })
      })
      meter
        .createObservableGauge('keyturn_replica_version', { description: 'Version of the instance in memory.' })
        .addCallback((result) => result.observe(replica.status().version))
      meter
        .createObservableGauge('keyturn_replica_staleness_seconds', {
          description: 'Time since the state in memory was last confirmed against the database.',
          unit: 's',
        })
        .addCallback((result) => result.observe(replica.status().stalenessSeconds))
    },
    text: async () => serializer.serialize((await exporter.collect()).resourceMetrics),
    stop: () => provider.shutdown(),
  }
}
