/**
 * Gauges and counters whose values are read at each scrape.
 */
import { type Aggregator, Counter, Gauge, type Registry } from 'prom-client'

/** One series. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface ObservedOptions {
  readonly name: string
  readonly help: string
  readonly labelNames?: readonly string[]
  /** Returns all series, or the value of the only one. */
  readonly read: () => number | readonly Sample[]
}

interface GaugeOptions extends ObservedOptions {
  /** Combines the values of several workers. Default `max`: most gauges are equal in all workers, or bad if one is high. */
  readonly aggregator?: Aggregator
}

/** Registers a gauge. It has no other series than `read` returns. */
export function observeGauge(
  registry: Registry,
  { aggregator = 'max', labelNames = [], read, ...options }: GaugeOptions,
): void {
  new Gauge({
    ...options,
    labelNames,
    aggregator,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, value } of samplesOf(read())) this.set(labels, value)
    },
  })
}

/** Registers a counter of which `read` returns the totals. */
export function observeCounter(registry: Registry, { labelNames = [], read, ...options }: ObservedOptions): void {
  new Counter({
    ...options,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, value } of samplesOf(read())) this.inc(labels, value)
    },
  })
}

function samplesOf(read: number | readonly Sample[]): readonly Sample[] {
  return typeof read === 'number' ? [{ labels: {}, value: read }] : read
}
