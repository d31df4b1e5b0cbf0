/**
 * Events of the audit trail as CSV (RFC 4180) and as JSON lines, in the JSON of the API.
 */
import { toJson } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { type AuditEvent, AuditEventSchema } from '../../gen/iam/audit/v2/audit_service_pb.js'

/** The formats that there are. */
export type ExportFormat = 'csv' | 'jsonl'

const COLUMNS = [
  'event_date',
  'outcome',
  'action',
  'actor',
  'resource',
  'client_address',
  'request_id',
  'event_id',
  'omitted',
]

/** The media type of each format. */
export const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv;charset=utf-8',
  jsonl: 'application/jsonl;charset=utf-8',
}

/** What a file begins with. */
export function headOf(format: ExportFormat): string {
  return format === 'csv' ? `${COLUMNS.join(',')}\r\n` : ''
}

/** Events as lines. */
export function linesOf(format: ExportFormat, events: readonly AuditEvent[]): string {
  if (format === 'jsonl') return events.map((event) => `${JSON.stringify(toJson(AuditEventSchema, event))}\n`).join('')
  return events.map((event) => `${cellsOf(event).map(cell).join(',')}\r\n`).join('')
}

function cellsOf(event: AuditEvent): string[] {
  const { eventDate, outcome, action, actor, resource, clientAddress, requestId, eventId, omission } = event
  const date = eventDate === undefined ? '' : timestampDate(eventDate).toISOString()
  return [
    date,
    outcome,
    action,
    actor,
    resource,
    clientAddress,
    requestId,
    eventId,
    omission === undefined ? '' : String(omission.count),
  ]
}

/** A text as one cell. A resource may be what a stranger wrote: a spreadsheet must not take it for a formula. */
function cell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
