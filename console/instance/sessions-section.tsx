/**
 * Who is signed in at the console.
 */
import type { CallOptions } from '@connectrpc/connect'
import { useState } from 'preact/hooks'
import type { Session } from '../../gen/iam/console/v2/console_service_pb.js'
import { consoleService, serviceUsers } from '../api/clients.ts'
import { everyItemOf } from '../api/every-page.ts'
import { millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { CardSection } from '../parts/card-section.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { actionColumn, type Column, DataTable } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Notice } from '../parts/notice.tsx'
import { Distance, When } from '../parts/when.tsx'
import { may } from '../session/session.ts'

export function SessionsSection() {
  const [revoked, setRevoked] = useState<Session>()
  const loaded = useLoaded(
    'sessions',
    async (options) => {
      const sessions = await everyItemOf(async (page) => {
        const { sessions: items, nextPageToken } = await consoleService.listSessions(page, options)
        return { items, nextPageToken }
      })
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
    { name: 'Signed in', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
    { name: 'Last use', cell: ({ lastUseDate }) => <Distance at={millisecondsOf(lastUseDate)} /> },
    { name: 'Ends', cell: ({ expirationDate }) => <When at={millisecondsOf(expirationDate)} /> },
    actionColumn<Session>('Revoke', {
      isShown: may('iam.session.delete'),
      labelOf: (session) => `Revoke ${describe(session)}`,
      onClick: (session) => setRevoked(session),
    }),
  ]
  return (
    <CardSection id="sessions" title="Sessions of the console">
      <LoadedView loaded={loaded}>
        {({ sessions }) => (
          <div class="stack">
            {sessions.some(({ unreadable }) => unreadable) && (
              <Notice kind="danger">
                <p>
                  A session that is unreadable was not written by Keyturn as it is in the database. It signs no browser
                  in. Find out who wrote to the database, and revoke it.
                </p>
              </Notice>
            )}
            <DataTable
              caption="Sessions"
              columns={columns}
              rows={sessions}
              keyOf={({ sessionId }) => sessionId}
              empty="None."
            />
          </div>
        )}
      </LoadedView>
      {revoked !== undefined && (
        <ConfirmDialog
          title="Revoke the session?"
          verb="Revoke"
          isDangerous
          onClose={() => setRevoked(undefined)}
          change={() => consoleService.revokeSession({ sessionId: revoked.sessionId })}
        >
          <p>
            {revoked.unreadable
              ? 'It leaves the list. It signs no browser in now either.'
              : 'The browser is signed out, on every replica at once. It may be the one in which you read this.'}
          </p>
        </ConfirmDialog>
      )}
    </CardSection>
  )
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
  const users = await Promise.all(
    ids.map(async (userId) => {
      const { serviceUser } = await serviceUsers
        .getServiceUser({ userId }, options)
        .catch(() => ({ serviceUser: undefined }))
      return [userId, serviceUser?.name ?? userId] as const
    }),
  )
  return new Map(users)
}
