/**
 * `FollowAuditEvents`: the audit trail as a stream, which a client can go on with elsewhere.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import {
  type FollowAuditEventsRequest,
  FollowAuditEventsResponseSchema,
} from '../../../gen/iam/audit/v2/audit_service_pb.js'
import type { AuditFeed } from '../../app/audit/audit-feed.ts'
import type { AuditBatch } from '../../domain/ports/audit.ts'
import { actorOf } from '../authorization/actor.ts'
import { unavailable } from '../messages/errors.ts'
import { toDate } from '../messages/fields.ts'
import { fromAuditEvent } from './audit-mapping.ts'
import type { FollowLimiter } from './follow-limiter.ts'

/** The longest time between two responses, in milliseconds: shorter than proxies and NAT keep a silent connection, and a lost right a stream. */
const KEEP_ALIVE = 15_000

/** The shortest time between two responses without events, in milliseconds. */
const POSITION_EVERY = 1_000

/** The longest duration of a stream, in milliseconds: then its client finds another replica, if there is a new one. */
const MAX_DURATION = 60 * 60 * 1000

export interface FollowOptions {
  readonly feed: AuditFeed
  readonly limiter: FollowLimiter
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
}

type Response = MessageInitShape<typeof FollowAuditEventsResponseSchema>

/** Answers a call. The right of the caller is checked before each response (`reauthorize`). */
export async function* followAuditEvents(
  req: FollowAuditEventsRequest,
  context: HandlerContext,
  { feed, limiter, stopping }: FollowOptions,
): AsyncGenerator<Response> {
  const from = toDate(req.fromDate, 'from_date')
  const filter = {
    from,
    to: null,
    actor: req.actor === '' ? null : req.actor,
    resource: req.resource === '' ? null : req.resource,
  }
  const release = limiter.admit(actorOf(context).authority.userId)
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(), MAX_DURATION)
  try {
    const signal = AbortSignal.any([context.signal, stopping, ending.signal])
    const after = req.afterPosition === '' && from === null ? await feed.latest() : req.afterPosition || null
    let sentAt = Number.NEGATIVE_INFINITY
    for await (const batch of feed.follow({ after, filter, signal, idleMillis: KEEP_ALIVE })) {
      if (signal.aborted) break
      const now = performance.now()
      if (batch.events.length === 0 && now - sentAt < POSITION_EVERY) continue
      sentAt = now
      yield toResponse(batch)
    }
    if (context.signal.aborted) return
    throw unavailable(
      stopping.aborted
        ? 'the server is stopping: go on after the last position'
        : 'a stream lasts an hour: go on after the last position',
    )
  } finally {
    clearTimeout(timer)
    release()
  }
}

function toResponse({ events, position }: AuditBatch): Response {
  return create(FollowAuditEventsResponseSchema, {
    events: events.map((followed) => ({ event: fromAuditEvent(followed.event), position: followed.position })),
    position,
  })
}
