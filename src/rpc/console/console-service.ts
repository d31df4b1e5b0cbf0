/**
 * `iam.console.v2.ConsoleService`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ConsoleService,
  SessionSchema,
  type Session as WireSession,
} from '../../../gen/iam/console/v2/console_service_pb.js'
import type { ConsoleSessions } from '../../app/console/console-sessions.ts'
import type { ConsoleSession } from '../../domain/console/sign-ins.ts'
import { actorOf } from '../authorization/actor.ts'
import { type DateAndId, listOldestFirst } from '../messages/paging.ts'

const sortKeyOf = ({ createdAt, sessionId }: ConsoleSession): DateAndId => ({ date: createdAt, id: sessionId })

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
      const { items, nextPageToken } = await listOldestFirst(req, await sessions.list(), sortKeyOf)
      return { sessions: items.map(fromSession), nextPageToken }
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
