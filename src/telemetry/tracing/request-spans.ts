/**
 * The spans of requests, and below them the spans of calls that a request waits for, exported in batches with OTLP as JSON over HTTP.
 *
 * Attributes follow OpenTelemetry's semantic conventions for HTTP and RPC. The exporter reads address, headers, certificates and limits from the
 * environment itself. Its queue is bounded: an outage of the collector costs spans, and a line in the log every minute.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
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
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TraceSampling } from '../../config/trace-sampling.ts'
import { readVersion } from '../../config/version.ts'
import { DomainError, isOutage } from '../../domain/errors.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { isRpc, rpcMethodOf } from '../../rpc/protocol/rpc-route.ts'
import { parseTraceparent } from './trace-context.ts'
import { LAST_SPANS_MILLIS, type Tracing } from './tracing.ts'

const SUCCESS = 0

export function createTracing({ ratio, followsSender }: TraceSampling, log: Log): Tracing {
  const root = new TraceIdRatioBasedSampler(ratio)
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'keyturn', 'service.version': readVersion() }))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    sampler: followsSender ? new ParentBasedSampler({ root }) : root,
    spanProcessors: [new BatchSpanProcessor({ exporter: withWarning(new OTLPTraceExporter(), log) })],
  })
  const tracer = provider.getTracer('keyturn')
  const spans = new WeakMap<object, Span>()
  /** The context of the request that the current call belongs to. */
  const current = new AsyncLocalStorage<Context>()

  /** Makes no span outside of a request: following the database, for example, is not traced. */
  const child = <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const parent = current.getStore()
    if (parent === undefined) return run()
    const span = tracer.startSpan(name, {}, parent)
    return current.run(trace.setSpan(parent, span), async () => {
      try {
        return await run()
      } catch (error) {
        span.setAttribute('error.type', errorType(error))
        if (!(error instanceof DomainError) || isOutage(error)) span.setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        span.end()
      }
    })
  }
  return {
    around: (handler) => (req, res) => {
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, senderOf(req))
      spans.set(req, span)
      res.setHeader('traceresponse', traceresponse(span))
      return current.run(trace.setSpan(ROOT_CONTEXT, span), () => handler(req, res))
    },
    end: ({ request, method, route, status, clientId, failure }) => {
      const span = spans.get(request)
      if (span === undefined) return
      spans.delete(request)
      const error = failure ?? (status >= 400 ? String(status) : undefined)
      span.updateName(`${method} ${route}`)
      span.setAttributes({
        'http.request.method': method === 'other' ? '_OTHER' : method,
        'http.route': route,
        'http.response.status_code': status,
        ...(isRpc(route) ? { 'rpc.system.name': rpcSystem(request), 'rpc.method': rpcMethodOf(route) } : {}),
        ...(clientId === undefined ? {} : { 'keyturn.client_id': clientId }),
        ...(error === undefined ? {} : { 'error.type': error }),
      })
      // A refusal is no error of the server.
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
    calls: <Port extends object>(name: string, port: Port): Port => {
      const traced = Object.entries(port).map(([method, call]) => [
        method,
        typeof call !== 'function' ? call : (...args: unknown[]) => child(`${name}.${method}`, () => call(...args)),
      ])
      return Object.fromEntries(traced)
    },
    stop: async () => {
      const isSent = provider.shutdown().then(() => true)
      // A collector that answers byte by byte would keep the server from stopping.
      if (await Promise.race([isSent, delay(LAST_SPANS_MILLIS, false, { ref: false })])) return
      log.warn({ reason: `no answer within ${LAST_SPANS_MILLIS / 1000} s` }, 'the last traces could not be sent')
    },
  }
}

/** Logs spans that are lost, which the processor does not. */
function withWarning(exporter: SpanExporter, log: Log): SpanExporter {
  const throttle = new LogThrottle()
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code === SUCCESS) return done(result)
        const reason = result.error?.message ?? 'unknown'
        if (throttle.admits('lost', performance.now()))
          log.warn({ reason, spans: spans.length }, 'traces could not be sent to the collector and are lost')
        // A failure would only reach OpenTelemetry's global error handler.
        done({ code: SUCCESS })
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}

/** The context of the sender, as its headers have it (W3C Trace Context). */
function senderOf({ headers }: IncomingMessage): Context {
  const parent = parseTraceparent(single(headers.traceparent))
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, parentId: spanId, flags: traceFlags } = parent
  const state = single(headers.tracestate)
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags,
    isRemote: true,
    ...(state === undefined ? {} : { traceState: createTraceState(state) }),
  })
}

/** The ids of the span for the caller (W3C Trace Context Level 3, `traceresponse`). */
function traceresponse(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

function rpcSystem({ headers }: IncomingMessage): string {
  return headers['content-type']?.startsWith('application/grpc') ? 'grpc' : 'connectrpc'
}

/** The code or the name of an error, not its message, which may be long or have personal data. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join() : header
}
