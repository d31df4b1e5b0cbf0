/**
 * Where spans go: in batches to a collector, with OTLP as JSON over HTTP.
 *
 * The exporter reads address, headers and certificates from the environment itself. All that waits is bounded: a
 * collector that is down costs spans, a line in the log now and then, and nothing else.
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
import type { Log } from '../../domain/ports.ts'
import { QuietWarning } from './rate-limited-warning.ts'

/** How long a batch may take, attempts included, in milliseconds. The server does not stop before the last one is done. */
const EXPORT_TIMEOUT = 5_000

/** Spans that wait. What comes when there are so many is dropped. */
const MAX_WAITING = 2048

const SEND_EVERY = 5_000

/** The code of an export that has worked. */
const SUCCESS = 0

/** What a provider is made of. */
export interface TracerProviderOptions {
  readonly sampling: TraceSampling
  readonly version: string
  readonly log: Log
}

/** Makes a provider. Its `shutdown` sends what waits. */
export function createTracerProvider({ sampling, version, log }: TracerProviderOptions): TracerProvider {
  const exporter = withWarnings(new OTLPTraceExporter({ timeoutMillis: EXPORT_TIMEOUT }), new QuietWarning(log))
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'keyturn', 'service.version': version }))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    sampler: samplerOf(sampling),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_WAITING,
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

/** The processor tells nobody that spans are lost. */
function withWarnings(exporter: SpanExporter, warning: QuietWarning): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code === SUCCESS) return done(result)
        warning.say({ reason: result.error?.message ?? 'unknown', spans: spans.length })
        // They are gone either way, and a failure would only be told to a handler that is the same for the whole process.
        done({ code: SUCCESS })
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}
