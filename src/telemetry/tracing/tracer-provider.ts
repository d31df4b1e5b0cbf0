/**
 * Exports spans in batches to a collector, with OTLP as JSON over HTTP.
 *
 * The exporter reads address, headers and certificates from the environment itself. Its queue is bounded: an outage of the
 * collector costs spans, and a line in the log every minute.
 */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TraceSampling } from '../../config/trace-sampling.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports/runtime.ts'

/** The time limit of a batch with its retries, in milliseconds, as long as the collector answers at all. */
const EXPORT_TIMEOUT = 5_000

/** The limit of the queue. More spans are dropped. */
const MAX_QUEUE_SIZE = 2048

const SEND_EVERY = 5_000

const SUCCESS = 0

export interface TracerProviderOptions {
  readonly sampling: TraceSampling
  readonly version: string
  readonly log: Log
}

/** Makes a provider. Its `shutdown` exports the queue. */
export function createTracerProvider({ sampling, version, log }: TracerProviderOptions): TracerProvider {
  const exporter = withWarning(new OTLPTraceExporter({ timeoutMillis: EXPORT_TIMEOUT }), log)
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'keyturn', 'service.version': version }))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    sampler: samplerOf(sampling),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_QUEUE_SIZE,
        scheduledDelayMillis: SEND_EVERY,
        exportTimeoutMillis: EXPORT_TIMEOUT * 2,
      }),
    ],
  })
}

function samplerOf({ ratio, followsSender }: TraceSampling): Sampler {
  const root = new TraceIdRatioBasedSampler(ratio)
  return followsSender ? new ParentBasedSampler({ root }) : root
}

/** Logs spans that are lost, which the processor does not. */
function withWarning(exporter: SpanExporter, log: Log): SpanExporter {
  const throttle = new LogThrottle()
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code === SUCCESS) return done(result)
        const reason = result.error?.message ?? 'unknown'
        if (throttle.admits('lost', performance.now())) {
          log.warn({ reason, spans: spans.length }, 'traces could not be sent to the collector and are lost')
        }
        // A failure would only reach OpenTelemetry's global error handler.
        done({ code: SUCCESS })
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}
