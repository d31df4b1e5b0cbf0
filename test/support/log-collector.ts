/**
 * A collector of logs: an HTTP server that takes OTLP as JSON and keeps the records.
 *
 * It knows the format from its specification and shares no code with what sends
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

interface LogsRequest {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: Attributes }
    readonly scopeLogs: readonly { readonly logRecords: readonly WireRecord[] }[]
  }[]
}

type Attributes = readonly {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}[]

interface WireRecord {
  readonly timeUnixNano: string
  readonly severityNumber: number
  readonly severityText: string
  readonly eventName: string
  readonly body: { readonly stringValue: string }
  readonly attributes: Attributes
}

/** A record as it arrived. */
export interface CollectedRecord extends Omit<WireRecord, 'attributes' | 'body'> {
  readonly body: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
}

/** How it answers: with a status, not at all, or with a body that does not end, a byte at a time. */
export type Answering = number | 'never' | 'dripping'

/** A running collector. */
export class LogCollector {
  readonly records: CollectedRecord[] = []
  /** Batches that came, taken or not. */
  attempts = 0
  answering: Answering = 200
  readonly #server = createServer((req, res) => {
    // A sender that gives up in the middle has sent nothing.
    void json(req).then(
      (body) => this.#receive(req.url ?? '', body as LogsRequest, res),
      () => {},
    )
  })

  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** @param port As of a collector that was there before; 0: any. */
  async start(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #receive(url: string, request: LogsRequest, res: ServerResponse): void {
    this.attempts += 1
    if (this.answering === 'never') return
    if (this.answering === 'dripping') {
      res.writeHead(200)
      const drip = setInterval(() => res.write(' '), 500)
      res.on('close', () => clearInterval(drip))
      return
    }
    if (url === '/v1/logs' && this.answering === 200) this.records.push(...recordsOf(request))
    res.writeHead(this.answering, { 'content-type': 'application/json' }).end('{}')
  }
}

function recordsOf({ resourceLogs }: LogsRequest): CollectedRecord[] {
  return resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(({ attributes, body, ...record }) => ({
        ...record,
        body: body.stringValue,
        attributes: toRecord(attributes),
        resource: toRecord(resource.attributes),
      })),
    ),
  )
}

function toRecord(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))
}
