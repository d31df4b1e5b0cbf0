/**
 * Metrics in the form that Prometheus scrapes, on an address of their own.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { Replica } from '../app/replica.ts'
import type { ListenAddress } from '../config/values.ts'
import type { Log } from '../domain/ports.ts'
import type { WebKeyState } from '../domain/web-key.ts'
import type { Answered } from '../http/router.ts'

const STATES: readonly WebKeyState[] = ['initial', 'active', 'inactive']

/** The metrics of this process. */
export interface Metrics {
  recordRequest(answered: Answered): void
  /** Lets the metrics of the key ring be read from a replica. */
  observe(replica: Replica): void
  stop(): Promise<void>
}

const NO_METRICS: Metrics = { recordRequest: () => {}, observe: () => {}, stop: async () => {} }

/**
 * Starts serving metrics at `/metrics`.
 *
 * An address that is taken costs the metrics and not the service: several processes on one machine share a default.
 *
 * @param address Null: nothing is measured.
 */
export async function startMetrics(address: ListenAddress | null, log: Log): Promise<Metrics> {
  if (address === null) return NO_METRICS

  const exporter = new PrometheusExporter({ preventServerStart: true, withoutTargetInfo: true })
  const server = createServer((req, res) => {
    if (req.url?.split('?', 1)[0] === '/metrics') exporter.getMetricsRequestHandler(req, res)
    else res.writeHead(404).end()
  })
  try {
    server.listen(address)
    await once(server, 'listening')
  } catch (error) {
    log.warn({ err: error }, 'metrics are not served: set KEYTURN_METRICS_LISTEN to another address or to "off"')
    return NO_METRICS
  }
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
    stop: async () => {
      // Nothing is lost by cutting a scrape off, and a connection without a request would be waited for.
      server.close()
      server.closeAllConnections()
      await provider.shutdown()
    },
  }
}
