/**
 * The trusted issuers, whose JWTs prove who a workload is; and one of them: its keys, and how fetching them goes.
 */
import type { IssuerKeys, TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { formatDistance, formatLength, millisecondsOf } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/buttons.tsx'
import { type Column, DataTable, Listing } from '../parts/data-table.tsx'
import { DialogButton } from '../parts/dialogs.tsx'
import { ItemView } from '../parts/loaded-view.tsx'
import {
  Badge,
  CardSection,
  DistanceFact,
  Fact,
  FailureNotice,
  Notice,
  PageHeading,
  type State,
} from '../parts/page.tsx'
import { Copyable, Distance, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'
import { ChangeIssuerDialog, DeleteIssuerButton, TrustDialog } from './issuer-dialogs.tsx'

export function IssuersPage() {
  return (
    <>
      <PageHeading title="Trusted issuers">
        {may('iam.trusted_issuer.write') && (
          <DialogButton text="Trust issuer" kind="primary" dialog={<TrustDialog />} />
        )}
      </PageHeading>
      <p class="summary">
        JWTs of a trusted issuer, such as a cluster or a CI system, prove who a workload is. They give no right until a
        service user has a federated identity that fits them.
      </p>
      <section class="card" aria-label="Trusted issuers">
        <Listing
          caption="Trusted issuers"
          columns={COLUMNS}
          name="issuers"
          // A fetch of keys makes no new version.
          isPeriodic
          read={(page, options) => trustedIssuers.listTrustedIssuers(page, options)}
          rowsOf={(page) => page.trustedIssuers}
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
function stateOfIssuer({ fetchedKeys }: TrustedIssuer, now: number): State {
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
function sourceNameOf(keys: IssuerKeys | undefined): string {
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

export function IssuerPage({ id: issuerId }: { readonly id: string }) {
  return (
    <ItemView
      place={['issuers', 'Trusted issuers']}
      id={issuerId}
      isPeriodic
      read={async (options) => (await trustedIssuers.getTrustedIssuer({ issuerId }, options)).trustedIssuer}
    >
      {(issuer) => <Issuer issuer={issuer} />}
    </ItemView>
  )
}

function Issuer({ issuer }: { readonly issuer: TrustedIssuer }) {
  const { issuerId, maxLifetimeSeconds, creationDate } = issuer
  const mayChange = may('iam.trusted_issuer.write')
  const refresh = useAction(async () => {
    await trustedIssuers.refreshTrustedIssuerKeys({ issuerId })
  })
  return (
    <>
      <PageHeading title={issuer.issuer} subtitle={<Copyable text={issuerId} what="the issuer id" />}>
        {mayChange && issuer.fetchedKeys !== undefined && (
          <Button
            text={refresh.isRunning ? 'Fetching…' : 'Fetch keys now'}
            disabled={refresh.isRunning}
            onClick={() => void refresh.run()}
          />
        )}
        {mayChange && <DialogButton text="Change" dialog={<ChangeIssuerDialog issuer={issuer} />} />}
        {may('iam.trusted_issuer.delete') && <DeleteIssuerButton issuer={issuer} />}
      </PageHeading>
      <FailureNotice failure={refresh.failure} />
      <p class="summary">
        <Badge {...stateOfIssuer(issuer, now.value)} /> Created <When at={creationDate} />. Its JWTs may live up to{' '}
        {formatLength(maxLifetimeSeconds * 1000)}.{' '}
        {may('iam.audit.read') && (
          <a href={linkTo(['audit'], { resource: `trusted_issuers/${issuerId}` })}>What was done to it</a>
        )}
      </p>
      <KeysSection issuer={issuer} />
    </>
  )
}

function KeysSection({ issuer }: { readonly issuer: TrustedIssuer }) {
  const { keys, fetchedKeys, algorithms } = issuer
  return (
    <CardSection title="Keys">
      {fetchedKeys !== undefined && fetchedKeys.failure !== '' && (
        <Notice kind="warning">
          The last fetch failed <Distance at={fetchedKeys.failureDate} />: {fetchedKeys.failure}.
        </Notice>
      )}
      <dl class="facts">
        <Fact name="Come from">{sourceNameOf(keys)}</Fact>
        {fetchedKeys !== undefined && (
          <>
            <DistanceFact name="Fetched" at={fetchedKeys.fetchDate} otherwise="never" />
            {fetchedKeys.expirationDate !== undefined && (
              <DistanceFact name="Too old" at={fetchedKeys.expirationDate} />
            )}
            <DistanceFact name="Next fetch" at={fetchedKeys.nextFetchDate} />
            <Fact name="Authorities">{keys?.caCertificates === '' ? 'the usual ones' : 'its own'}</Fact>
          </>
        )}
        <Fact name="Algorithms">{algorithms.join(', ')}</Fact>
      </dl>
      <DataTable
        caption="Public keys"
        columns={KEY_COLUMNS}
        rows={publicKeysOf(issuer)}
        keyOf={({ kid, kind }) => `${kid} ${kind}`}
        empty="There are no keys: all its JWTs are refused."
      />
    </CardSection>
  )
}

/** A public key, as far as a person wants to know. */
interface PublicKey {
  readonly kid: string
  readonly kind: string
}

const KEY_COLUMNS: readonly Column<PublicKey>[] = [
  { name: 'Key id', kind: 'main', cell: ({ kid }) => <code>{kid}</code> },
  { name: 'Kind', kind: 'text', cell: ({ kind }) => kind },
]

/** The keys that count now. */
function publicKeysOf({ keys, fetchedKeys }: TrustedIssuer): readonly PublicKey[] {
  const text = keys?.source.case === 'jwks' ? keys.source.value : (fetchedKeys?.jwks ?? '')
  if (text === '') return []
  const { keys: jwks = [] } = JSON.parse(text) as { keys?: readonly Readonly<Record<string, unknown>>[] }
  return jwks.map(({ kid, kty, crv, alg }) => {
    const kind = [alg, crv ?? kty].filter((part) => part !== undefined).join(', ')
    return { kid: kid === undefined ? '(without kid)' : String(kid), kind }
  })
}
