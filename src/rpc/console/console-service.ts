/** `iam.console.v2.ConsoleService`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { ConsoleService, SessionSchema } from '../../../gen/iam/console/v2/console_service_pb.js'
import type { ConsoleSessions } from '../../app/console/console-sessions.ts'
import type { ConsoleSession, UnreadableSession } from '../../domain/console/sign-ins.ts'
import { actorOf } from '../authorization/actor.ts'
import { listOldestFirst } from '../messages/paging.ts'

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
      // Those that cannot be read come first: their dates are not believed.
      const all = [...unreadable.map((each) => ({ ...each, createdAt: new Date(0) })), ...readable]
      const { items, nextPageToken } = await listOldestFirst(req, all, ({ createdAt, sessionId }) => {
        return { date: createdAt, id: sessionId }
      })
      return { sessions: items.map(fromSession), nextPageToken }
    },

    async revokeSession(req, context) {
      await sessions.revoke(actorOf(context), req.sessionId)
      return {}
    },
  }
}

/** A session on the wire, without its cookie. */
function fromSession(session: ConsoleSession | UnreadableSession): MessageInitShape<typeof SessionSchema> {
  const { sessionId } = session
  if (!('userId' in session)) return { sessionId, unreadable: true }
  return {
    sessionId,
    userId: session.userId,
    creationDate: timestampFromDate(session.createdAt),
    expirationDate: timestampFromDate(session.expiresAt),
    lastUseDate: timestampFromDate(session.lastUsedAt),
    clientAddress: session.clientAddress,
  }
}
