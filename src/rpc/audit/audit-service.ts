/** `iam.audit.v2.AuditService`. `FollowAuditEvents` is the audit trail as a stream, which a client can go on with elsewhere. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type {
  AuditEventSchema,
  AuditService,
  FollowAuditEventsRequest,
  ListAuditEventsRequest,
} from '../../../gen/iam/audit/v2/audit_service_pb.js'
import type { AuditFeed } from '../../app/audit/audit-feed.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import type { AuditEvent, AuditFilter } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { actorOf } from '../authorization/actor.ts'
import { listing } from '../authorization/methods.ts'
import { unavailable } from '../messages/errors.ts'
import { toDate } from '../messages/fields.ts'
import { byDate, listPage } from '../messages/paging.ts'
import { StreamLimiter } from '../protocol/stream-limiter.ts'

/** The longest time between two responses, in milliseconds: shorter than proxies and NAT keep a silent connection, and a lost right a stream. */
const KEEP_ALIVE = 15_000

/** The shortest time between two responses without events, in milliseconds. */
const POSITION_EVERY = 1_000

/** The longest duration of a stream, in milliseconds: then its client finds another replica, if there is a new one. */
const MAX_DURATION = 60 * 60 * 1000

const MAX_STREAMS = { perHolder: 10, total: 100 }

const EVENTS = byDate(
  ({ at, eventId }: AuditEvent) => ({ date: at, id: eventId }),
  ({ date, id }) => ({ at: date, eventId: id }),
)

/** @param stopping Aborted when the server stops. */
export function auditService(
  audit: Pick<AuditTrail, 'list'>,
  feed: AuditFeed,
  stopping: AbortSignal,
): ServiceImpl<typeof AuditService> {
  const limiter = new StreamLimiter(MAX_STREAMS, (message) => new DomainError('audit_stream_limit_reached', message))
  return {
    listAuditEvents: listing('events', fromAuditEvent, async (_actor, req) => {
      const filter = { ...toFilter(req), to: toDate(req.toDate, 'to_date') }
      return listPage(req, EVENTS, (page) => audit.list(filter, page))
    }),

    followAuditEvents(req, context) {
      const filter = toFilter(req)
      limiter.admit(actorOf(context).authority.userId, context.signal)
      return follow(filter, req.afterPosition, context)
    },
  }

  async function* follow(filter: AuditFilter, afterPosition: string, context: HandlerContext) {
    const signal = AbortSignal.any([context.signal, stopping, AbortSignal.timeout(MAX_DURATION)])
    const after = afterPosition === '' && filter.from === null ? await feed.latest() : afterPosition || null
    let sentAt = Number.NEGATIVE_INFINITY
    for await (const { events, position } of feed.follow({ after, filter, signal, idleMillis: KEEP_ALIVE })) {
      if (signal.aborted) break
      const now = performance.now()
      if (events.length === 0 && now - sentAt < POSITION_EVERY) continue
      sentAt = now
      const followed = events.map((each) => ({ event: fromAuditEvent(each.event), position: each.position }))
      yield { events: followed, position }
    }
    if (context.signal.aborted) return
    const why = stopping.aborted ? 'the server is stopping' : 'a stream lasts an hour'
    throw unavailable(`${why}: go on after the last position`)
  }
}

/** @throws {ConnectError} `invalid_argument`. */
function toFilter(req: ListAuditEventsRequest | FollowAuditEventsRequest): AuditFilter {
  const { actor, resource } = req
  return { from: toDate(req.fromDate, 'from_date'), to: null, actor: actor || null, resource: resource || null }
}

function fromAuditEvent({ at, omission, ...event }: AuditEvent): MessageInitShape<typeof AuditEventSchema> {
  return {
    ...event,
    eventDate: timestampFromDate(at),
    ...(omission === null
      ? {}
      : { omission: { count: BigInt(omission.count), sinceDate: timestampFromDate(omission.since) } }),
  }
}
