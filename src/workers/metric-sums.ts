/**
 * How the metrics of several processes become those of one server.
 *
 * Counters and histograms are added up. Gauges depend on what they say; most are the same in all workers, or bad when
 * one is high, so without a rule the highest counts.
 */
import type { Exposition, MetricFamily } from './exposition.ts'

type Combine = (a: number, b: number) => number

const add: Combine = (a, b) => a + b

/** Gauges that are not the highest of all. */
const GAUGES: Readonly<Record<string, Combine>> = {
  keyturn_database_connections: add,
  keyturn_database_waiting: add,
  keyturn_http_connections: add,
  keyturn_requests_in_flight: add,
  process_resident_memory_bytes: add,
  keyturn_can_sign: Math.min,
  keyturn_database_reachable: Math.min,
  keyturn_replica_ready: Math.min,
  process_start_time_seconds: Math.min,
}

/** What only ever grows in a process, and so must go on counting when the process is gone. */
export function onlyCounters(families: Exposition): Exposition {
  return new Map([...families].filter(([, { type }]) => isCounter(type)))
}

/** One exposition of all. A series that only some have counts for those. */
export function combine(expositions: readonly Exposition[]): Exposition {
  const combined: Exposition = new Map()
  for (const families of expositions) {
    for (const family of families.values()) {
      const into = combined.get(family.name)
      if (into === undefined) combined.set(family.name, { ...family, samples: new Map(family.samples) })
      else addTo(into, family)
    }
  }
  return combined
}

function addTo(into: MetricFamily, { name, type, samples }: MetricFamily): void {
  const rule = isCounter(type) ? add : (GAUGES[name] ?? Math.max)
  for (const [series, value] of samples) {
    const before = into.samples.get(series)
    into.samples.set(series, before === undefined ? value : rule(before, value))
  }
}

function isCounter(type: string): boolean {
  return type === 'counter' || type === 'histogram'
}
