/**
 * `iam.console.v2.ConsoleService`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ConsoleService,
  SessionSchema,
  type Session as WireSession,
} from '../../../gen/iam/console/v2/console_service_pb.js'
import type { ConsoleSessions } from '../../app/console/console-sessions.ts'
import type { ConsoleSession, UnreadableSession } from '../../domain/console/sign-ins.ts'
import { actorOf } from '../authorization/actor.ts'
import { type DateAndId, listOldestFirst } from '../messages/paging.ts'

/** Those that cannot be read come first: their dates are not believed. */
const sortKeyOf = ({ creationDate, sessionId }: WireSession): DateAndId => ({
  date: creationDate === undefined ? new Date(0) : timestampDate(creationDate),
  id: sessionId,
})

/** Answers the calls of the service. */
export function consoleService(
  sessions: Pick<ConsoleSessions, 'createLink' | 'list' | 'revoke'>,
  baseUrl: string,
): ServiceImpl<typeof ConsoleService> {
  return {
    async createSignInLink(_req, context) {
      const { code, link } = await sessions.createLink(actorOf(context))
      return { url: `${baseUrl}/console/#code=${code}`, expirationDate: timestampFromDate(link.expiresAt) }
    },

    async listSessions(req) {
      const { sessions: readable, unreadable } = await sessions.list()
      const all = [...unreadable.map(fromUnreadable), ...readable.map(fromSession)]
      const { items, nextPageToken } = await listOldestFirst(req, all, sortKeyOf)
      return { sessions: [...items], nextPageToken }
    },

    async revokeSession(req, context) {
      await sessions.revoke(actorOf(context), req.sessionId)
      return {}
    },
  }
}

/** A session on the wire, without its cookie. */
function fromSession(session: ConsoleSession): WireSession {
  return create(SessionSchema, {
    sessionId: session.sessionId,
    userId: session.userId,
    creationDate: timestampFromDate(session.createdAt),
    expirationDate: timestampFromDate(session.expiresAt),
    lastUseDate: timestampFromDate(session.lastUsedAt),
    clientAddress: session.clientAddress,
  })
}

function fromUnreadable({ sessionId }: UnreadableSession): WireSession {
  return create(SessionSchema, { sessionId, unreadable: true })
}
