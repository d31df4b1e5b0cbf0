/**
 * `iam.audit.v2.AuditService`.
 */
import type { ServiceImpl } from '@connectrpc/connect'
import type { AuditService } from '../../../gen/iam/audit/v2/audit_service_pb.js'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import { byDate, listPage } from '../messages/paging.ts'
import { fromAuditEvent, toAuditFilter } from './audit-mapping.ts'
import { type FollowOptions, followAuditEvents } from './follow-audit-events.ts'
import { FollowLimiter } from './follow-limiter.ts'

const EVENTS = byDate(
  ({ at, eventId }: AuditEvent) => ({ date: at, id: eventId }),
  ({ date, id }) => ({ at: date, eventId: id }),
)

/** Answers the calls of the service. */
export function auditService(
  audit: Pick<AuditTrail, 'list'>,
  { feed, stopping }: Omit<FollowOptions, 'limiter'>,
): ServiceImpl<typeof AuditService> {
  const limiter = new FollowLimiter()
  return {
    async listAuditEvents(req) {
      const filter = toAuditFilter(req)
      const { items, nextPageToken } = await listPage(req, EVENTS, (page) => audit.list(filter, page))
      return { events: items.map(fromAuditEvent), nextPageToken }
    },

    followAuditEvents: (req, context) => followAuditEvents(req, context, { feed, limiter, stopping }),
  }
}
