/**
 * The instance: the replica that answers and the others, the database, master keys, settings, and who is signed in at the console.
 */
import type { Duration } from '@bufbuild/protobuf/wkt'
import type { CallOptions } from '@connectrpc/connect'
import type { Session } from '../../gen/iam/console/v2/console_service_pb.js'
import {
  type Instance,
  type MasterKey,
  type Replica,
  ReplicaPresence,
  type Setting,
} from '../../gen/iam/instance/v2/instance_service_pb.js'
import { consoleService, everyItemOf, serviceUsers } from '../api/clients.ts'
import { formatDistance, formatRoughly, lengthOf, millisecondsOf, shortened } from '../format/text.ts'
import { heardAt, instance, now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { type Column, DataTable, removal } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { CardSection, Fact, Notice, PageHeading, sentence } from '../parts/page.tsx'
import { Distance, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'

export function InstancePage() {
  const { value } = instance
  return (
    <>
      <PageHeading title="Instance" subtitle={value?.issuer} />
      <LoadedView loaded={{ value, at: heardAt.value, failure: undefined }}>
        {(loaded) => (
          <>
            <Overview instance={loaded} />
            <ReplicasSection instance={loaded} />
            <CardSection title="Master keys">
              <DataTable caption="Master keys" columns={MASTER_KEYS} rows={loaded.masterKeys} keyOf={({ id }) => id} />
            </CardSection>
            {may('iam.session.read') && <SessionsSection />}
            <CardSection title="Settings of this replica">
              <DataTable caption="Settings" columns={SETTINGS} rows={loaded.settings} keyOf={({ name }) => name} />
            </CardSection>
          </>
        )}
      </LoadedView>
    </>
  )
}

function Overview({ instance: { version, changeDate, replica, database } }: { readonly instance: Instance }) {
  const at = now.value
  const startedAt = millisecondsOf(replica?.startDate)
  return (
    <section class="card" aria-label="Overview">
      {replica?.warnings.map((warning) => (
        <Notice key={warning} kind="warning">
          {sentence(warning)}
        </Notice>
      ))}
      <div class="two-columns">
        <div>
          <h2>Instance</h2>
          <dl class="facts">
            <Fact name="Version">{String(version)}</Fact>
            <Fact name="Last change">
              <When at={changeDate} otherwise="none yet" />
            </Fact>
            <Fact name="Database">PostgreSQL {database?.postgresqlVersion}</Fact>
            <Fact name="Its clock">{offsetOf(database?.clockOffset)}</Fact>
          </dl>
        </div>
        <div>
          <h2>This replica</h2>
          <dl class="facts">
            <Fact name="State">
              <Readiness ready={replica?.ready === true} reason={replica?.reason} />
            </Fact>
            <Fact name="Keyturn">{replica?.keyturnVersion}</Fact>
            <Fact name="Running">
              {startedAt === undefined ? '–' : formatDistance(startedAt, at).replace(' ago', '')}
            </Fact>
            <Fact name="Confirmed by the database">{`${formatPrecisely(lengthOf(replica?.staleness))} ago`}</Fact>
            <Fact name="Last change took">
              {replica?.lag === undefined ? 'none from elsewhere yet' : formatPrecisely(lengthOf(replica.lag))}
            </Fact>
          </dl>
        </div>
      </div>
    </section>
  )
}

function formatPrecisely(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : formatRoughly(milliseconds)
}

function offsetOf(offset: Duration | undefined): string {
  if (offset === undefined) return 'not known'
  const milliseconds = lengthOf(offset)
  if (Math.abs(milliseconds) < 500) return 'agrees with that of this replica'
  return `is ${formatPrecisely(Math.abs(milliseconds))} ${milliseconds > 0 ? 'ahead' : 'behind'}`
}

const MASTER_KEYS: readonly Column<MasterKey>[] = [
  { name: 'ID', kind: 'main', cell: ({ id }) => <code>{id}</code> },
  {
    name: 'State',
    cell: ({ active, configured, sealedKeys }) => {
      if (!configured) return <span class="badge is-danger">missing here</span>
      if (active) return <span class="badge is-active">seals new keys</span>
      return sealedKeys === 0 ? (
        <span class="badge">can be removed</span>
      ) : (
        <span class="badge is-initial">opens only</span>
      )
    },
  },
  { name: 'Keys that it seals', cell: ({ sealedKeys }) => String(sealedKeys) },
]

const SETTINGS: readonly Column<Setting>[] = [
  { name: 'Variable', kind: 'main', cell: ({ name }) => <code>{name}</code> },
  {
    name: 'Value',
    kind: 'text',
    cell: ({ value }) => (value === '' ? <span class="quiet">none</span> : <code>{value}</code>),
  },
]

function ReplicasSection({ instance }: { readonly instance: Instance }) {
  const answering = instance.replica?.replicaId
  const columns: Column<Replica>[] = [
    {
      name: 'Replica',
      kind: 'main',
      cell: ({ replicaId, hostName }) => (
        <>
          <span title={replicaId}>
            {hostName} <code>{shortened(replicaId)}</code>
          </span>{' '}
          {replicaId === answering && <span class="badge">this one</span>}
        </>
      ),
    },
    { name: 'State', kind: 'text', cell: stateOf },
    { name: 'Keyturn', cell: ({ keyturnVersion }) => keyturnVersion },
    { name: 'Version', cell: ({ version }) => String(version) },
    { name: 'Lacks', cell: (replica) => lackOf(replica, instance.version) },
    { name: 'Started', cell: ({ startDate }) => <Distance at={startDate} /> },
    { name: 'Last seen', cell: ({ lastSeenDate }) => <Distance at={lastSeenDate} /> },
  ]
  return (
    <CardSection title="Replicas">
      <DataTable
        caption="Replicas"
        columns={columns}
        rows={instance.replicas}
        keyOf={({ replicaId }) => replicaId}
        empty="None has been seen yet. Each writes to the database every few seconds that it runs."
      />
    </CardSection>
  )
}

function stateOf({ presence, ready, reason }: Replica) {
  if (presence === ReplicaPresence.GONE) return <span class="badge">gone</span>
  if (presence === ReplicaPresence.OVERDUE) return <span class="badge is-warning">not seen</span>
  return <Readiness ready={ready} reason={reason} />
}

function Readiness({ ready, reason }: { readonly ready: boolean; readonly reason: string | undefined }) {
  if (ready) return <span class="badge is-success">ready</span>
  return (
    <>
      <span class="badge is-danger">not ready</span> {reason}
    </>
  )
}

function lackOf({ version, versionsBehind: changes }: Replica, newest: bigint) {
  if (changes === 1n) return <span class="badge is-warning">1 change</span>
  if (changes > 0n) return <span class="badge is-warning">{String(changes)} changes</span>
  // The newest change came after its last heartbeat, so the next one says it.
  return version < newest ? <span class="quiet">not known yet</span> : 'nothing'
}

function SessionsSection() {
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
    <CardSection title="Sessions of the console">
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
