/** The kinds of metrics: those whose values are read at each scrape, and those that count events. */
import { type Aggregator, Counter, Gauge, Histogram, type Registry } from 'prom-client'

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Observed {
  readonly labelNames?: readonly string[]
  /** Returns the value of the only series, the values by the only label, or all series. A gauge has no others; a counter takes them for its totals. */
  readonly read: () => number | boolean | Readonly<Record<string, number>> | readonly Sample[]
}

interface ObservedGauge extends Observed {
  /** Combines the values of several workers. Default `max`: most gauges are equal in all workers, or bad if one is high. */
  readonly aggregator?: Aggregator
}

export function metricsIn(registry: Registry) {
  const registers = [registry]
  return {
    gauge(name: string, help: string, { aggregator = 'max', labelNames = [], read }: ObservedGauge): void {
      new Gauge({
        name,
        help,
        labelNames,
        aggregator,
        registers,
        collect() {
          this.reset()
          for (const { labels, value } of samplesOf(read(), labelNames)) this.set(labels, value)
        },
      })
    },
    counter(name: string, help: string, { labelNames = [], read }: Observed): void {
      new Counter({
        name,
        help,
        labelNames,
        registers,
        collect() {
          this.reset()
          for (const { labels, value } of samplesOf(read(), labelNames)) this.inc(labels, value)
        },
      })
    },
    countEvents: (name: string, help: string, labelNames: readonly string[]) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[], labelNames: readonly string[] = []) =>
      new Histogram({ name, help, labelNames, buckets, registers }),
  }
}

function samplesOf(read: ReturnType<Observed['read']>, [label = '']: readonly string[]): readonly Sample[] {
  if (typeof read !== 'object') return [{ labels: {}, value: Number(read) }]
  if (Array.isArray(read)) return read
  return Object.entries(read).map(([name, value]) => ({ labels: { [label]: name }, value }))
}
