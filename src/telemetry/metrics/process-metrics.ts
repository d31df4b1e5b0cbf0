/** Metrics of the process, under the names that dashboards for Prometheus and Node.js look for. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Registry } from 'prom-client'
import { readVersion } from '../../config/version.ts'
import { metricsIn } from './instruments.ts'

const SAMPLE_EVERY = 20

const NANOSECONDS = 1e9
const MICROSECONDS = 1e6

/** Registers the metrics, and returns what ends the sampling of the event loop. */
export function measureProcess(registry: Registry): () => void {
  const delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY })
  delay.enable()
  // A sample is the time since the one before, which includes the interval.
  const late = (nanoseconds: number): number =>
    Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - SAMPLE_EVERY / 1000) : 0

  const { gauge, counter } = metricsIn(registry)
  gauge('nodejs_eventloop_lag_seconds', 'How late the event loop was since the last scrape, on average.', {
    read: () => late(delay.mean),
  })
  gauge('nodejs_eventloop_lag_p99_seconds', 'How late the event loop was since the last scrape, 99th percentile.', {
    read: () => {
      const p99 = late(delay.percentile(99))
      // Metrics are read in the order of their registration, so the mean has been read.
      delay.reset()
      return p99
    },
  })
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', {
    aggregator: 'sum',
    read: () => process.memoryUsage.rss(),
  })
  counter('process_cpu_seconds_total', 'User and system CPU time spent in seconds.', {
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / MICROSECONDS
    },
  })
  gauge('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', {
    aggregator: 'min',
    read: () => performance.timeOrigin / 1000,
  })
  const labels = { version: readVersion(), node: process.versions.node }
  gauge('keyturn_build_info', 'Always 1, with the versions as labels.', {
    labelNames: Object.keys(labels),
    read: () => [{ labels, value: 1 }],
  })
  return () => delay.disable()
}
