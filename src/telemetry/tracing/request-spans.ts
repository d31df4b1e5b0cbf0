/**
 * The spans of requests, and below them the spans of calls that a request waits for.
 *
 * Attributes follow OpenTelemetry's semantic conventions for HTTP and RPC.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { DomainError, isOutage } from '../../domain/errors.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import { isRpc, rpcMethodOf } from '../../rpc/protocol/rpc-route.ts'
import { parseTraceparent } from './trace-context.ts'
import type { TracedRequest } from './tracing.ts'

export class RequestSpans {
  readonly #tracer: Tracer
  readonly #spans = new WeakMap<object, Span>()
  /** The context of the request that the current call belongs to. */
  readonly #context = new AsyncLocalStorage<Context>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  readonly around = (handler: Handler): Handler => {
    return (req, res) => {
      const span = this.#tracer.startSpan('request', { kind: SpanKind.SERVER }, senderOf(req))
      this.#spans.set(req, span)
      res.setHeader('traceresponse', traceresponse(span))
      return this.#context.run(trace.setSpan(ROOT_CONTEXT, span), () => handler(req, res))
    }
  }

  readonly end = ({ request, method, route, status, clientId, failure }: TracedRequest): void => {
    const span = this.#spans.get(request)
    if (span === undefined) return
    this.#spans.delete(request)
    span.updateName(`${method} ${route}`)
    span.setAttributes({
      'http.request.method': method === 'other' ? '_OTHER' : method,
      'http.route': route,
      'http.response.status_code': status,
    })
    if (isRpc(route)) {
      span.setAttributes({ 'rpc.system.name': rpcSystem(request), 'rpc.method': rpcMethodOf(route) })
    }
    if (clientId !== undefined) span.setAttribute('keyturn.client_id', clientId)
    const error = failure ?? (status >= 400 ? String(status) : undefined)
    if (error !== undefined) span.setAttribute('error.type', error)
    // A refusal is no error of the server.
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }

  readonly calls = <Port extends object>(name: string, port: Port): Port => {
    const traced = Object.entries(port).map(([method, call]) => [
      method,
      typeof call !== 'function' ? call : (...args: unknown[]) => this.#child(`${name}.${method}`, () => call(...args)),
    ])
    return Object.fromEntries(traced)
  }

  /** Makes no span outside of a request: following the database, for example, is not traced. */
  #child<T>(name: string, run: () => Promise<T>): Promise<T> {
    const parent = this.#context.getStore()
    if (parent === undefined) return run()
    const span = this.#tracer.startSpan(name, {}, parent)
    return this.#context.run(trace.setSpan(parent, span), async () => {
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

function rpcSystem(request: object): string {
  const headers = 'headers' in request ? (request as IncomingMessage).headers : {}
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
