/**
 * A collector of traces: an HTTP server that takes OTLP as JSON and keeps the spans, flattened.
 *
 * It knows the format from its specification and shares no code with what sends
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface AnyValue {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly doubleValue?: number
  readonly boolValue?: boolean
}

type Attributes = readonly { readonly key: string; readonly value: AnyValue }[]

interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly kind: number
  readonly attributes?: Attributes
  readonly status?: { readonly code?: number }
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: Attributes }
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[]
  }[]
}

/** A span as it arrived. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty if it is the root of its trace. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  /** 1 internal, 2 server. */
  readonly kind: number
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
}

/** A running collector. */
export interface TraceCollector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  /** All that arrived, as text. */
  readonly bodies: readonly string[]
  spans(): CollectedSpan[]
  stop(): Promise<void>
}

/** Starts a collector. @param status What it answers to each batch; null: nothing at all. */
export async function startTraceCollector(status: number | null = 200): Promise<TraceCollector> {
  const bodies: string[] = []
  const server = createServer((req, res) => {
    let text = ''
    req.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    req.on('end', () => {
      if (req.url === '/v1/traces' && req.method === 'POST') bodies.push(text)
      if (status !== null) res.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body) as TraceRequest)),
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function spansOf({ resourceSpans }: TraceRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        traceState: span.traceState ?? '',
        name: span.name,
        kind: span.kind,
        status: span.status?.code ?? 0,
        attributes: toRecord(span.attributes),
        resource: toRecord(resource?.attributes),
      })),
    ),
  )
}

function toRecord(attributes: Attributes = []): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? null : Number(value.intValue)),
    ]),
  )
}
