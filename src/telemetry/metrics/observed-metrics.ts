/** Gauges and counters whose values are read at each scrape. */
import { type Aggregator, Counter, Gauge, type Registry } from 'prom-client'

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Observed {
  readonly labelNames?: readonly string[]
  /** Returns all series, or the value of the only one. A gauge has no others; a counter takes them for its totals. */
  readonly read: () => number | boolean | readonly Sample[]
}

interface ObservedGauge extends Observed {
  /** Combines the values of several workers. Default `max`: most gauges are equal in all workers, or bad if one is high. */
  readonly aggregator?: Aggregator
}

export function observing(registry: Registry) {
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
          for (const { labels, value } of samplesOf(read())) this.set(labels, value)
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
          for (const { labels, value } of samplesOf(read())) this.inc(labels, value)
        },
      })
    },
  }
}

function samplesOf(read: ReturnType<Observed['read']>): readonly Sample[] {
  return typeof read === 'object' ? read : [{ labels: {}, value: Number(read) }]
}
