/**
 * Exports spans in batches to a collector, with OTLP as JSON over HTTP.
 *
 * The exporter reads address, headers and certificates from the environment itself. Its queue is bounded: an outage of the
 * collector costs spans, and a line in the log every five minutes.
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
import type { Log } from '../../domain/ports/runtime.ts'
import { RateLimitedWarning } from './rate-limited-warning.ts'

/** The time limit of a batch with its retries, in milliseconds, as long as the collector answers at all. */
const EXPORT_TIMEOUT = 5_000

/** The limit of the queue. More spans are dropped. */
const MAX_QUEUE_SIZE = 2048

const SEND_EVERY = 5_000

/** The code of a successful export. */
const SUCCESS = 0

/** What a provider needs. */
export interface TracerProviderOptions {
  readonly sampling: TraceSampling
  readonly version: string
  readonly log: Log
}

/** Makes a provider. Its `shutdown` exports the queue. */
export function createTracerProvider({ sampling, version, log }: TracerProviderOptions): TracerProvider {
  const exporter = withWarning(new OTLPTraceExporter({ timeoutMillis: EXPORT_TIMEOUT }), new RateLimitedWarning(log))
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
function withWarning(exporter: SpanExporter, warning: RateLimitedWarning): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code === SUCCESS) return done(result)
        warning.warn({ reason: result.error?.message ?? 'unknown', spans: spans.length })
        // A failure would only reach OpenTelemetry's global error handler.
        done({ code: SUCCESS })
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}
