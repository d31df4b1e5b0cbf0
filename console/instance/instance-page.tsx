/**
 * The instance: the replica that answers and the others, the database, master keys, settings, and who is
 * signed in at the console.
 */
import type { Instance, MasterKey, Setting } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { formatDistance, formatRoughly, millisecondsOf } from '../format/text.ts'
import { now } from '../live/clock.ts'
import { instance } from '../live/instance.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Notice, sentence } from '../parts/notice.tsx'
import { CardSection, Fact, PageHeading } from '../parts/page.tsx'
import { When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import { ReplicasSection } from './replicas-section.tsx'
import { SessionsSection } from './sessions-section.tsx'

export function InstancePage() {
  const { value } = instance
  return (
    <>
      <PageHeading title="Instance" subtitle={value?.issuer} />
      {value === undefined ? (
        <p class="loading" role="status">
          Loading…
        </p>
      ) : (
        <>
          <Overview instance={value} />
          <ReplicasSection instance={value} />
          <CardSection id="master-keys" title="Master keys">
            <DataTable caption="Master keys" columns={MASTER_KEYS} rows={value.masterKeys} keyOf={({ id }) => id} />
          </CardSection>
          {may('iam.session.read') && <SessionsSection />}
          <CardSection id="settings" title="Settings of this replica">
            <DataTable caption="Settings" columns={SETTINGS} rows={value.settings} keyOf={({ name }) => name} />
          </CardSection>
        </>
      )}
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
            <Fact name="Its clock">{offsetOf(preciseLengthOf(database?.clockOffset))}</Fact>
          </dl>
        </div>
        <div>
          <h2>This replica</h2>
          <dl class="facts">
            <Fact name="State">
              {replica?.ready === true ? (
                <span class="badge is-success">ready</span>
              ) : (
                <>
                  <span class="badge is-danger">not ready</span> {replica?.reason}
                </>
              )}
            </Fact>
            <Fact name="Keyturn">{replica?.keyturnVersion}</Fact>
            <Fact name="Running">
              {startedAt === undefined ? '–' : formatDistance(startedAt, at).replace(' ago', '')}
            </Fact>
            <Fact name="Confirmed by the database">{`${formatPrecisely(preciseLengthOf(replica?.staleness) ?? 0)} ago`}</Fact>
            <Fact name="Last change took">
              {replica?.lag === undefined
                ? 'none from elsewhere yet'
                : formatPrecisely(preciseLengthOf(replica.lag) ?? 0)}
            </Fact>
          </dl>
        </div>
      </div>
    </section>
  )
}

/** A duration in milliseconds, with fractions of a second. */
function preciseLengthOf(duration: { seconds: bigint; nanos: number } | undefined): number | undefined {
  return duration === undefined ? undefined : Number(duration.seconds) * 1000 + duration.nanos / 1_000_000
}

function formatPrecisely(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : formatRoughly(milliseconds)
}

function offsetOf(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return 'not known'
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
