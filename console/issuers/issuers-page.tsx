/**
 * The trusted issuers: whose JWTs prove who a workload is.
 */
import { useState } from 'preact/hooks'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { formatLength, millisecondsOf } from '../format/moment.ts'
import { now } from '../live/clock.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo, route } from '../navigation/route.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { Pager } from '../parts/pager.tsx'
import { When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import { TrustDialog } from './issuer-dialogs.tsx'
import { sourceNameOf, stateOfIssuer } from './issuer-state.ts'

const PAGE_SIZE = 50

export function IssuersPage() {
  const [isTrusting, setIsTrusting] = useState(false)
  const pageToken = route.value.query.get('page') ?? ''
  const loaded = useLoaded(
    `issuers ${pageToken}`,
    (options) => trustedIssuers.listTrustedIssuers({ pageSize: PAGE_SIZE, pageToken }, options),
    // A fetch of keys makes no new version.
    { isPeriodic: true },
  )
  return (
    <>
      <PageHeading title="Trusted issuers">
        {may('iam.trusted_issuer.write') && (
          <button type="button" class="button is-primary" onClick={() => setIsTrusting(true)}>
            Trust issuer
          </button>
        )}
      </PageHeading>
      <p class="summary">
        JWTs of a trusted issuer, such as a cluster or a CI system, prove who a workload is. They give no right until a
        service user has a federated identity that fits them.
      </p>
      <section class="card" aria-label="Trusted issuers">
        <LoadedView loaded={loaded}>
          {({ trustedIssuers: items, nextPageToken }) => (
            <>
              <DataTable
                caption="Trusted issuers"
                columns={COLUMNS}
                rows={items}
                keyOf={({ issuerId }) => issuerId}
                empty="No issuer is trusted: workloads prove who they are with secrets, keys or certificates."
              />
              <Pager pageToken={pageToken} nextPageToken={nextPageToken} />
            </>
          )}
        </LoadedView>
      </section>
      {isTrusting && <TrustDialog onClose={() => setIsTrusting(false)} />}
    </>
  )
}

const COLUMNS: readonly Column<TrustedIssuer>[] = [
  {
    name: 'Issuer',
    kind: 'main',
    cell: ({ issuerId, issuer }) => <a href={linkTo(['issuers', issuerId])}>{issuer}</a>,
  },
  { name: 'Keys', kind: 'text', cell: ({ keys }) => sourceNameOf(keys) },
  { name: 'State', cell: (issuer) => <IssuerStateBadge issuer={issuer} /> },
  { name: 'JWTs live', cell: ({ maxLifetimeSeconds }) => `up to ${formatLength(maxLifetimeSeconds * 1000)}` },
  { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
]

/** The state of its keys. */
export function IssuerStateBadge({ issuer }: { readonly issuer: TrustedIssuer }) {
  const { text, tone } = stateOfIssuer(issuer, now.value)
  return <span class={tone === '' ? 'badge' : `badge is-${tone}`}>{text}</span>
}
