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

/** A file, and whether all events are in it. */
export interface ExportedFile {
  readonly content: Blob
  readonly isWhole: boolean
}

/** The greatest number of events in a file: all of them are in the memory of the browser at once. */
export const MOST_EVENTS = 100_000

/**
 * The events of all pages as one file.
 *
 * @param onProgress Called with the number of events so far.
 */
export async function fileOf(
  format: ExportFormat,
  pages: AsyncIterable<readonly AuditEvent[]>,
  onProgress: (count: number) => void,
): Promise<ExportedFile> {
  const parts = format === 'csv' ? [`${COLUMNS.join(',')}\r\n`] : []
  let count = 0
  for await (const events of pages) {
    const rest = MOST_EVENTS - count
    parts.push(linesOf(format, events.slice(0, rest)))
    if (events.length > rest) return { content: new Blob(parts), isWhole: false }
    count += events.length
    onProgress(count)
  }
  return { content: new Blob(parts), isWhole: true }
}

/** Events as lines. */
function linesOf(format: ExportFormat, events: readonly AuditEvent[]): string {
  if (format === 'jsonl') return events.map((event) => `${JSON.stringify(toJson(AuditEventSchema, event))}\n`).join('')
  return events.map((event) => `${cellsOf(event).map(cell).join(',')}\r\n`).join('')
}

function cellsOf(event: AuditEvent): string[] {
  const { eventDate, omission } = event
  const fields: Readonly<Record<string, unknown>> = {
    ...(toJson(AuditEventSchema, event, { useProtoFieldName: true }) as object),
    // Its milliseconds are written when they are zero too, so that all dates are of one length.
    event_date: eventDate && timestampDate(eventDate).toISOString(),
    omitted: omission?.count,
  }
  return COLUMNS.map((name) => String(fields[name] ?? ''))
}

/** A text as one cell. A resource may be what a stranger wrote: a spreadsheet must not take it for a formula. */
function cell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
