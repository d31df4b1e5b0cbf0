/**
 * Metrics of the process, under the names that dashboards for Prometheus and Node.js look for.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Meter } from '@opentelemetry/api'
import { readVersion } from '../../config/version.ts'

/** How often the event loop is asked to be on time, in milliseconds. */
const SAMPLE_EVERY = 20

const NANOSECONDS = 1e9
const MICROSECONDS = 1e6

/** Makes the instruments, and returns what ends the sampling of the event loop. */
export function measureProcess(meter: Meter): () => void {
  const labels = { version: readVersion(), node: process.versions.node }
  const delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY })
  delay.enable()
  // What is sampled is the time between two samples, the agreed one included.
  const late = (nanoseconds: number): number =>
    Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - SAMPLE_EVERY / 1000) : 0

  const mean = meter.createObservableGauge('nodejs_eventloop_lag_seconds', {
    description: 'How late the event loop was since the last scrape, on average.',
  })
  const p99 = meter.createObservableGauge('nodejs_eventloop_lag_p99_seconds', {
    description: 'How late the event loop was since the last scrape, 99th percentile.',
  })
  meter.addBatchObservableCallback(
    (result) => {
      result.observe(mean, late(delay.mean))
      result.observe(p99, late(delay.percentile(99)))
      delay.reset()
    },
    [mean, p99],
  )
  meter
    .createObservableGauge('process_resident_memory_bytes', { description: 'Resident memory size in bytes.' })
    .addCallback((result) => result.observe(process.memoryUsage.rss()))
  meter
    .createObservableCounter('process_cpu_seconds_total', { description: 'User and system CPU time spent in seconds.' })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage()
      result.observe((user + system) / MICROSECONDS)
    })
  meter
    .createObservableGauge('process_start_time_seconds', {
      description: 'Start time of the process since unix epoch in seconds.',
    })
    .addCallback((result) => result.observe(performance.timeOrigin / 1000))
  meter
    .createObservableGauge('keyturn_build_info', { description: 'Always 1, with the versions as labels.' })
    .addCallback((result) => result.observe(1, labels))
  return () => delay.disable()
}
