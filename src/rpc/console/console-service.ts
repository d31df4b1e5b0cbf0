/** `iam.console.v2.ConsoleService`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { ConsoleService, SessionSchema } from '../../../gen/iam/console/v2/console_service_pb.js'
import type { ConsoleSessions } from '../../app/console/console-sessions.ts'
import type { AnySession, SignInLink } from '../../domain/console/sign-ins.ts'
import { answering, done, listing } from '../authorization/methods.ts'
import { byDate, listPage } from '../messages/paging.ts'

const SESSIONS = byDate(
  ({ createdAt, sessionId }: AnySession) => ({ date: createdAt, id: sessionId }),
  ({ date, id }) => ({ createdAt: date, sessionId: id }),
)

export function consoleService(
  sessions: Pick<ConsoleSessions, 'createLink' | 'list' | 'revoke'>,
  baseUrl: string,
): ServiceImpl<typeof ConsoleService> {
  return {
    createSignInLink: answering(({ code, link }: { readonly code: string; readonly link: SignInLink }) => {
      return { url: `${baseUrl}/console/#code=${code}`, expirationDate: timestampFromDate(link.expiresAt) }
    })((actor) => sessions.createLink(actor)),
    listSessions: listing('sessions', fromSession, (_actor, req) =>
      listPage(req, SESSIONS, (page) => sessions.list(page)),
    ),
    revokeSession: done((actor, { sessionId }) => sessions.revoke(actor, sessionId)),
  }
}

/** A session on the wire, without its cookie. */
function fromSession(session: AnySession): MessageInitShape<typeof SessionSchema> {
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
