/**
 * Gauges and counters whose values are read at each scrape.
 */
import { type Aggregator, Counter, Gauge, type Registry } from 'prom-client'

/** What a metric is called. */
interface ObservedOptions {
  readonly name: string
  readonly help: string
  readonly labelNames?: readonly string[]
}

/** One series. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

type Read = () => number | readonly Sample[]

/**
 * Registers a gauge. It has the series that `read` returns, and no others.
 *
 * @param options.aggregator How the values of several workers become one. Default `max`: most gauges are the same in all
 * workers, or bad when one is high.
 */
export function observeGauge(
  registry: Registry,
  { aggregator = 'max', labelNames = [], ...options }: ObservedOptions & { readonly aggregator?: Aggregator },
  read: Read,
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

/** Registers a counter that is counted elsewhere. */
export function observeCounter(registry: Registry, { labelNames = [], ...options }: ObservedOptions, read: Read): void {
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

function samplesOf(read: ReturnType<Read>): readonly Sample[] {
  return typeof read === 'number' ? [{ labels: {}, value: read }] : read
}
