/**
 * A gauge whose series come and go. An instrument of the SDK goes on exporting each series that it has ever had.
 */
import { type Attributes, ValueType } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'

/** One series as it is now. */
export interface PassingPoint {
  readonly attributes: Attributes
  readonly value: number
}

export class PassingGauge implements MetricProducer {
  readonly #descriptor: { readonly name: string; readonly description: string }
  /** Returns all series that there are now. Until it is set, there are none. */
  read: () => readonly PassingPoint[] = () => []

  constructor(name: string, { description }: { readonly description: string }) {
    this.#descriptor = { name, description }
  }

  async collect(): Promise<CollectionResult> {
    const now = Date.now()
    const at: [number, number] = [Math.floor(now / 1000), (now % 1000) * 1e6]
    const metric = {
      descriptor: { ...this.#descriptor, unit: '', valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE as const,
      dataPoints: this.read().map((point) => ({ ...point, startTime: at, endTime: at })),
    }
    const metrics = metric.dataPoints.length === 0 ? [] : [metric]
    const resource = resourceFromAttributes({})
    return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'keyturn' }, metrics }] }, errors: [] }
  }
}
