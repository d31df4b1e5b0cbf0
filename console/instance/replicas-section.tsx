/**
 * The replicas of the instance: which run, whether each can serve, and whether it has the newest changes.
 */
import { type Instance, type Replica, ReplicaPresence } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { shortened } from '../format/text.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { CardSection } from '../parts/page.tsx'
import { Distance } from '../parts/when.tsx'

export function ReplicasSection({ instance }: { readonly instance: Instance }) {
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
    <CardSection id="replicas" title="Replicas">
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
