/**
 * Between the messages of `iam.audit.v2` and the domain, both ways.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  AuditEventSchema,
  type ListAuditEventsRequest,
  OmissionSchema,
  type AuditEvent as WireAuditEvent,
  type Omission as WireOmission,
} from '../../../gen/iam/audit/v2/audit_service_pb.js'
import type { AuditEvent, AuditFilter, Omission } from '../../domain/audit.ts'
import { toDate } from '../messages/fields.ts'

/** What a request filters by. @throws {ConnectError} `invalid_argument`. */
export function toAuditFilter(req: ListAuditEventsRequest): AuditFilter {
  return {
    from: toDate(req.fromDate, 'from_date'),
    to: toDate(req.toDate, 'to_date'),
    actor: req.actor === '' ? null : req.actor,
    resource: req.resource === '' ? null : req.resource,
  }
}

export function fromAuditEvent({
  eventId,
  at,
  actor,
  action,
  resource,
  outcome,
  requestId,
  clientAddress,
  omission,
  reason,
}: AuditEvent): WireAuditEvent {
  const event = {
    eventId,
    eventDate: timestampFromDate(at),
    actor,
    action,
    resource,
    outcome,
    requestId,
    clientAddress,
    reason,
  }
  return create(AuditEventSchema, omission === null ? event : { ...event, omission: fromOmission(omission) })
}

function fromOmission({ count, since }: Omission): WireOmission {
  return create(OmissionSchema, { count: BigInt(count), sinceDate: timestampFromDate(since) })
}
