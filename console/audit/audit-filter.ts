/**
 * The filters of the audit trail, which are in the address.
 */

import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ListAuditEventsRequestSchema } from '../../gen/iam/audit/v2/audit_service_pb.js'

/** The filters. All texts; empty: none. */
export interface AuditFilter {
  /** As a field for local time writes it, for example `2026-11-21T08:30`. */
  readonly from: string
  readonly to: string
  readonly actor: string
  readonly resource: string
}

/** Reads the filters of an address. */
export function filterOf(query: URLSearchParams): AuditFilter {
  const read = (name: string) => query.get(name) ?? ''
  return { from: read('from'), to: read('to'), actor: read('actor'), resource: read('resource') }
}

/** The filters in a request. */
export function requestOf({
  from,
  to,
  actor,
  resource,
}: AuditFilter): MessageInitShape<typeof ListAuditEventsRequestSchema> {
  const [fromDate, toDate] = [dateOf(from), dateOf(to)]
  return {
    actor: actor.trim(),
    resource: resource.trim(),
    ...(fromDate === undefined ? {} : { fromDate: timestampFromDate(fromDate) }),
    ...(toDate === undefined ? {} : { toDate: timestampFromDate(toDate) }),
  }
}

function dateOf(text: string): Date | undefined {
  const date = new Date(text)
  return text === '' || Number.isNaN(date.getTime()) ? undefined : date
}
