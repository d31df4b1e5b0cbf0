/**
 * The metrics of this process. `metrics-server.ts` serves them, `docs/metrics.md` says what each one means.
 */
import { Registry } from 'prom-client'
import type { Replica } from '../../app/replica/replica.ts'
import type { SignerFactory } from '../../domain/ports.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import { type DatabaseStatus, measureDatabase } from './database-metrics.ts'
import { measureKeys } from './key-metrics.ts'
import { observeGauge } from './observed-metrics.ts'
import { measureProcess } from './process-metrics.ts'
import { measureReplica } from './replica-metrics.ts'
import { type MeasuredRequest, measureRequests } from './request-metrics.ts'
import { measureRotation, type RotationStatus } from './rotation-metrics.ts'

/** All metrics of a process at a moment. */
export type MetricFamilies = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

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
  /** All of them as they are now, to be added to those of other workers. */
  families(): Promise<MetricFamilies>
  stop(): void
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
  families: async () => [],
  stop: () => {},
}

/** Starts measuring. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const requests = measureRequests(registry)
  const database = measureDatabase(registry)
  const inMemory = measureReplica(registry)
  const endProcess = measureProcess(registry)
  return {
    around: requests.around,
    recordRequest: requests.record,
    countTokens: requests.countTokens,
    recordChangeLag: database.recordChangeLag,
    observe: (replica, now) => {
      measureKeys(registry, replica, now)
      inMemory.observe(replica)
    },
    observeDatabase: database.observe,
    observeRotation: (status) => measureRotation(registry, status),
    observeConnections: (count) =>
      observeGauge(
        registry,
        { name: 'keyturn_http_connections', help: 'Open connections of clients.', aggregator: 'sum' },
        count,
      ),
    text: () => registry.metrics(),
    families: () => registry.getMetricsAsJSON(),
    stop: endProcess,
  }
}
