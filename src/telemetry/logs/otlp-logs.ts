/**
 * Audit events as log records of OpenTelemetry, sent to a collector with OTLP as JSON over HTTP.
 *
 * The exporter reads address, headers and certificates from the environment itself.
 */
import { SeverityNumber } from '@opentelemetry/api'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
import { LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs'
import { readVersion } from '../../config/version.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { ExportAuditEvents } from '../../domain/ports/audit.ts'
import type { Log } from '../../domain/ports/runtime.ts'

/** The time limit of a batch with its retries, in milliseconds. For a request it is the time without a byte: a response can take longer. */
const EXPORT_TIMEOUT = 5_000

/** After this a batch has failed, also if its response is still coming. Longer than its retries can take, so that no two are under way. */
const LONGEST_EXPORT = 2 * EXPORT_TIMEOUT

/** The code of a successful export. */
const SUCCESS = 0

/** Sends audit events. */
export interface OtlpLogs {
  readonly send: ExportAuditEvents
  /** To be called when no batch is being sent. */
  stop(): void
}

/** Makes the exporter. */
export function createOtlpLogs(log: Log): OtlpLogs {
  const exporter = new OTLPLogExporter({ timeoutMillis: EXPORT_TIMEOUT })
  const throttle = new LogThrottle()
  const made: ReadableLogRecord[] = []
  const provider = new LoggerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'keyturn', 'service.version': readVersion() }))
      .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    // The trail is the queue, so the records are only made here.
    processors: [
      {
        onEmit: (record) => void made.push(record),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
    ],
  })
  const logger = provider.getLogger('keyturn.audit')
  const send: ExportAuditEvents = (events) => {
    for (const event of events) logger.emit(recordOf(event))
    return new Promise((resolve) => {
      const fail = (reason: string) => {
        if (throttle.admits(reason, performance.now())) {
          log.warn({ reason, events: events.length }, 'audit events could not be sent to the collector: trying again')
        }
        resolve(false)
      }
      const late = setTimeout(() => fail(`no complete response within ${LONGEST_EXPORT / 1000} s`), LONGEST_EXPORT)
      exporter.export(made.splice(0), ({ code, error }) => {
        clearTimeout(late)
        if (code === SUCCESS) resolve(true)
        else fail(error?.message ?? 'unknown')
      })
    })
  }
  // It would wait for requests that have failed here, whose responses are still coming.
  return { send, stop: () => void exporter.shutdown() }
}

/** https://opentelemetry.io/docs/specs/otel/logs/data-model/ */
function recordOf(event: AuditEvent) {
  const { eventId, at, actor, action, resource, outcome, requestId, clientAddress, omission, reason } = event
  const isRefusal = outcome !== 'ok'
  return {
    eventName: 'keyturn.audit',
    timestamp: at,
    severityNumber: isRefusal ? SeverityNumber.WARN : SeverityNumber.INFO,
    severityText: isRefusal ? 'WARN' : 'INFO',
    body: `${action} ${outcome}`,
    attributes: {
      'keyturn.event.id': eventId,
      'keyturn.actor': actor,
      'keyturn.action': action,
      'keyturn.resource': resource,
      'keyturn.outcome': outcome,
      'keyturn.request.id': requestId,
      ...(reason === '' ? {} : { 'keyturn.reason': reason }),
      ...(clientAddress === '' ? {} : { 'client.address': clientAddress }),
      ...(omission === null
        ? {}
        : { 'keyturn.omission.count': omission.count, 'keyturn.omission.since': omission.since.toISOString() }),
    },
  }
}
