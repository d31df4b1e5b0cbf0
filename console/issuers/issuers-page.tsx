/**
 * The trusted issuers: whose JWTs prove who a workload is.
 */
import type { IssuerKeys, TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { formatDistance, formatLength, millisecondsOf } from '../format/text.ts'
import { now } from '../live/clock.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo, route } from '../navigation/route.ts'
import { DialogButton } from '../parts/confirm-dialog.tsx'
import { type Column, Listing, PAGE_SIZE } from '../parts/data-table.tsx'
import { Badge, type State } from '../parts/notice.tsx'
import { PageHeading } from '../parts/page.tsx'
import { When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import { TrustDialog } from './issuer-dialogs.tsx'

export function IssuersPage() {
  const pageToken = route.value.query.get('page') ?? ''
  const loaded = useLoaded(
    `issuers ${pageToken}`,
    async (options) => {
      const request = { pageSize: PAGE_SIZE, pageToken }
      const { trustedIssuers: rows, nextPageToken } = await trustedIssuers.listTrustedIssuers(request, options)
      return { rows, nextPageToken }
    },
    // A fetch of keys makes no new version.
    { isPeriodic: true },
  )
  return (
    <>
      <PageHeading title="Trusted issuers">
        {may('iam.trusted_issuer.write') && <DialogButton verb="Trust issuer" isPrimary dialog={<TrustDialog />} />}
      </PageHeading>
      <p class="summary">
        JWTs of a trusted issuer, such as a cluster or a CI system, prove who a workload is. They give no right until a
        service user has a federated identity that fits them.
      </p>
      <section class="card" aria-label="Trusted issuers">
        <Listing
          caption="Trusted issuers"
          columns={COLUMNS}
          loaded={loaded}
          keyOf={({ issuerId }) => issuerId}
          empty="No issuer is trusted: workloads prove who they are with secrets, keys or certificates."
        />
      </section>
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
  { name: 'State', cell: (issuer) => <Badge {...stateOfIssuer(issuer, now.value)} /> },
  { name: 'JWTs live', cell: ({ maxLifetimeSeconds }) => `up to ${formatLength(maxLifetimeSeconds * 1000)}` },
  { name: 'Created', cell: ({ creationDate }) => <When at={creationDate} /> },
]

/** Whether its JWTs can be verified now. */
export function stateOfIssuer({ fetchedKeys }: TrustedIssuer, now: number): State {
  if (fetchedKeys === undefined) return { text: 'keys given', tone: 'success' }
  const { failure } = fetchedKeys
  const [fetchedAt, usedUntil] = [fetchedKeys.fetchDate, fetchedKeys.expirationDate].map(millisecondsOf)
  if (fetchedAt === undefined) {
    return failure === '' ? { text: 'not fetched yet', tone: '' } : { text: 'cannot be fetched', tone: 'danger' }
  }
  if (usedUntil !== undefined && usedUntil <= now) return { text: 'keys too old', tone: 'danger' }
  if (failure !== '') return { text: 'last fetch failed', tone: 'warning' }
  return { text: `fetched ${formatDistance(fetchedAt, now)}`, tone: 'success' }
}

/** Where its keys come from, in a few words. */
export function sourceNameOf(keys: IssuerKeys | undefined): string {
  switch (keys?.source.case) {
    case 'discovery':
      return 'OpenID discovery'
    case 'jwksUrl':
      return `JWKS at ${keys.source.value}`
    case 'spiffeBundleUrl':
      return `SPIFFE bundle at ${keys.source.value}`
    default:
      return 'given here'
  }
}
