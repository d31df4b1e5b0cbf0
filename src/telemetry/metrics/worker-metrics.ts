/**
 * The metrics of several worker processes: their sums, and their state.
 *
 * The counters of a worker that has exited are gone from the sums, which Prometheus takes for a restart of the counter.
 */
import { AggregatorRegistry, Registry } from 'prom-client'
import { metricsIn } from './instruments.ts'

export interface WorkerCounts {
  readonly running: number
  readonly restarting: number
  readonly restarts: number
}

/** Returns what reads all metrics, in the text format of Prometheus. @throws {Error} if a worker does not answer within 5 s. */
export function createWorkerMetrics(counts: () => WorkerCounts): () => Promise<string> {
  const workers = new AggregatorRegistry()
  const registry = new Registry()
  const { gauge, counter } = metricsIn(registry)
  gauge('keyturn_workers', 'Worker processes by state.', {
    labelNames: ['state'],
    read: () => {
      const { running, restarting } = counts()
      return { running, restarting }
    },
  })
  counter('keyturn_worker_restarts_total', 'Worker processes that were started to replace one that ended.', {
    read: () => counts().restarts,
  })
  return async () => `${await workers.clusterMetrics()}${await registry.metrics()}`
}
