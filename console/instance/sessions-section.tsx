/**
 * Who is signed in at the console.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { Session } from '../../gen/iam/console/v2/console_service_pb.js'
import { consoleService, everyItemOf, serviceUsers } from '../api/clients.ts'
import { shortened } from '../format/text.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { type Column, DataTable, removal } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { CardSection, Notice } from '../parts/page.tsx'
import { Distance, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'

export function SessionsSection() {
  const loaded = useLoaded(
    'sessions',
    async (options) => {
      const sessions = await everyItemOf('sessions', (page) => consoleService.listSessions(page, options))
      return { sessions, names: await namesOf(sessions, options) }
    },
    { isPeriodic: true },
  )
  const names = loaded.value?.names
  const columns: Column<Session>[] = [
    {
      name: 'User',
      kind: 'main',
      cell: ({ userId, sessionId, unreadable }) =>
        unreadable ? (
          <>
            <span class="badge is-danger">unreadable</span> <code title={sessionId}>{shortened(sessionId)}</code>
          </>
        ) : (
          <a href={linkTo(['users', userId])} title={userId}>
            {names?.get(userId) ?? shortened(userId)}
          </a>
        ),
    },
    { name: 'Address', cell: ({ clientAddress }) => clientAddress || '–' },
    { name: 'Signed in', cell: ({ creationDate }) => <When at={creationDate} /> },
    { name: 'Last use', cell: ({ lastUseDate }) => <Distance at={lastUseDate} /> },
    { name: 'Ends', cell: ({ expirationDate }) => <When at={expirationDate} /> },
  ]
  return (
    <CardSection id="sessions" title="Sessions of the console">
      <LoadedView loaded={loaded}>
        {({ sessions }) => (
          <div class="stack">
            {sessions.some(({ unreadable }) => unreadable) && (
              <Notice kind="danger">
                A session that is unreadable was not written by Keyturn as it is in the database. It signs no browser
                in. Find out who wrote to the database, and revoke it.
              </Notice>
            )}
            <DataTable
              caption="Sessions"
              columns={columns}
              rows={sessions}
              keyOf={({ sessionId }) => sessionId}
              actionsOf={may('iam.session.delete') && ((session) => [revocationOf(session)])}
            />
          </div>
        )}
      </LoadedView>
    </CardSection>
  )
}

function revocationOf(session: Session) {
  const { sessionId, unreadable } = session
  return removal({
    verb: 'Revoke',
    label: `Revoke ${describe(session)}`,
    title: 'Revoke the session?',
    consequence: unreadable
      ? 'It leaves the list. It signs no browser in now either.'
      : 'The browser is signed out, on every replica at once. It may be the one in which you read this.',
    remove: () => consoleService.revokeSession({ sessionId }),
  })
}

function describe({ userId, sessionId, clientAddress, unreadable }: Session): string {
  if (unreadable) return `the unreadable session ${shortened(sessionId)}`
  return `the session of ${shortened(userId)} from ${clientAddress}`
}

/** So many users are named, the others have their ids: each takes a call. */
const MOST_NAMED = 20

async function namesOf(sessions: readonly Session[], options: CallOptions): Promise<ReadonlyMap<string, string>> {
  if (!may('iam.user.read')) return new Map()
  const ids = [...new Set(sessions.map(({ userId }) => userId))].filter((userId) => userId !== '').slice(0, MOST_NAMED)
  const users = await Promise.allSettled(ids.map((userId) => serviceUsers.getServiceUser({ userId }, options)))
  const found = users.flatMap((result) => (result.status === 'fulfilled' ? (result.value.serviceUser ?? []) : []))
  return new Map(found.map(({ userId, name }) => [userId, name]))
}
