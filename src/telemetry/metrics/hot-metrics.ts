/**
 * Histograms and counters of what happens with every request.
 *
 * An instrument of the SDK sorts and prints the labels each time to find the series, which takes as long as half of
 * answering a small request. Here whoever records holds the series. The SDK's reader collects them with everything else.
 */
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'

/** One series of a histogram. */
export class HistogramSeries {
  readonly #boundaries: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(boundaries: readonly number[]) {
    this.#boundaries = boundaries
    this.#counts = Array<number>(boundaries.length + 1).fill(0)
  }

  record(value: number): void {
    let bucket = 0
    // A boundary belongs to the bucket below it.
    while (bucket < this.#boundaries.length && value > (this.#boundaries[bucket] as number)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#sum += value
    this.#count += 1
  }

  get value() {
    const buckets = { boundaries: [...this.#boundaries], counts: [...this.#counts] }
    return { buckets, sum: this.#sum, count: this.#count }
  }
}

/** One series of a counter. */
export class CounterSeries {
  value = 0

  add(): void {
    this.value += 1
  }
}

/** All series of a metric. There must be few: each is kept. */
class SeriesOf<Series extends { readonly value: unknown }> {
  readonly #make: () => Series
  readonly #series = new Map<string, { readonly attributes: Attributes; readonly series: Series }>()

  constructor(make: () => Series) {
    this.#make = make
  }

  /** The series with these labels, which must always come in the same order. */
  with(attributes: Attributes = {}): Series {
    const key = JSON.stringify(attributes)
    const known = this.#series.get(key)
    if (known !== undefined) return known.series
    const series = this.#make()
    this.#series.set(key, { attributes, series })
    return series
  }

  /** As they are now. */
  points(startTime: HrTime, endTime: HrTime) {
    return [...this.#series.values()].map(({ attributes, series }) => {
      return { startTime, endTime, attributes, value: series.value as Series['value'] }
    })
  }
}

/** What is collected. */
export class HotMetrics implements MetricProducer {
  readonly #startedAt = now()
  readonly #metrics: ((endTime: HrTime) => MetricData)[] = []

  histogram(name: string, options: { readonly description: string; readonly boundaries: readonly number[] }) {
    const { description, boundaries } = options
    const all = new SeriesOf(() => new HistogramSeries(boundaries))
    this.#metrics.push((endTime) => ({
      ...describe(name, description),
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: all.points(this.#startedAt, endTime),
    }))
    return all
  }

  counter(name: string, { description }: { readonly description: string }) {
    const all = new SeriesOf(() => new CounterSeries())
    this.#metrics.push((endTime) => ({
      ...describe(name, description),
      dataPointType: DataPointType.SUM,
      isMonotonic: true,
      dataPoints: all.points(this.#startedAt, endTime),
    }))
    return all
  }

  async collect(): Promise<CollectionResult> {
    const endTime = now()
    const metrics = this.#metrics.map((read) => read(endTime)).filter(({ dataPoints }) => dataPoints.length > 0)
    const resource = resourceFromAttributes({})
    return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'keyturn' }, metrics }] }, errors: [] }
  }
}

function describe(name: string, description: string) {
  const descriptor = { name, description, unit: '', valueType: ValueType.DOUBLE }
  return { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE }
}

function now(): HrTime {
  const milliseconds = Date.now()
  return [Math.floor(milliseconds / 1000), (milliseconds % 1000) * 1e6]
}
