/**
 * What this process measures, in the form that Prometheus reads. `metrics-server.ts` serves it, `docs/metrics.md` says
 * what each metric means.
 */
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { Replica } from '../../app/replica/replica.ts'
import type { SignerFactory } from '../../domain/ports.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import { type DatabaseStatus, measureDatabase } from './database-metrics.ts'
import { HotMetrics } from './hot-metrics.ts'
import { measureKeys } from './key-metrics.ts'
import { measureProcess } from './process-metrics.ts'
import { createUnreadableGauge, measureReplica } from './replica-metrics.ts'
import { type MeasuredRequest, measureRequests } from './request-metrics.ts'
import { measureRotation, type RotationStatus } from './rotation-metrics.ts'

/** The metrics of this process. */
export interface Metrics {
  /** The same handler, counted while it answers. Each request must come to `recordRequest` as well. */
  around(handler: Handler): Handler
  recordRequest(request: MeasuredRequest): void
  /** The same factory, whose signatures are counted: nothing but tokens is signed. */
  countTokens(signers: SignerFactory): SignerFactory
  /** How old a change was when this replica had taken it over, in seconds. */
  recordChangeLag(seconds: number): void
  /** Lets the metrics of what is in memory be read from a replica. Once only. @param now The time of the instance. */
  observe(replica: Replica, now: () => Date): void
  /** Lets the metrics of the database be read. Once only. */
  observeDatabase(status: DatabaseStatus): void
  /** Lets the metrics of the rotation be read. Once only. */
  observeRotation(status: () => RotationStatus): void
  /** Lets the number of open connections be read. Once only. */
  observeConnections(count: () => number): void
  /** All of them as they are now, as text. */
  text(): Promise<string>
  stop(): Promise<void>
}

/** Measures nothing. */
export const NO_METRICS: Metrics = {
  around: (handler) => handler,
  recordRequest: () => {},
  countTokens: (signers) => signers,
  recordChangeLag: () => {},
  observe: () => {},
  observeDatabase: () => {},
  observeRotation: () => {},
  observeConnections: () => {},
  text: async () => '',
  stop: async () => {},
}

/** Starts measuring. */
export function createMetrics(): Metrics {
  const hot = new HotMetrics()
  const unreadable = createUnreadableGauge()
  const exporter = new PrometheusExporter({ preventServerStart: true, metricProducers: [hot, unreadable] })
  // Neither the target nor the scope of a metric says anything that its name does not.
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  const provider = new MeterProvider({ readers: [exporter] })
  const meter = provider.getMeter('keyturn')
  const requests = measureRequests(meter, hot)
  const database = measureDatabase(meter)
  const inMemory = measureReplica(meter, unreadable)
  const endProcess = measureProcess(meter)
  return {
    around: requests.around,
    recordRequest: requests.record,
    countTokens: requests.countTokens,
    recordChangeLag: database.recordChangeLag,
    observe: (replica, now) => {
      measureKeys(meter, replica, now)
      inMemory.observe(replica)
    },
    observeDatabase: database.observe,
    observeRotation: (status) => measureRotation(meter, status),
    observeConnections: (count) => {
      meter
        .createObservableGauge('keyturn_http_connections', { description: 'Open connections of clients.' })
        .addCallback((result) => result.observe(count()))
    },
    text: async () => `${serializer.serialize((await exporter.collect()).resourceMetrics).trimEnd()}\n`,
    stop: async () => {
      endProcess()
      await provider.shutdown()
    },
  }
}
