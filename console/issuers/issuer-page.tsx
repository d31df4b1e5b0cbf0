/**
 * One trusted issuer: its keys, and how fetching them goes.
 */
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { unlessMissing } from '../api/failure.ts'
import { formatLength } from '../format/text.ts'
import { now } from '../live/clock.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { DialogButton } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { ItemView } from '../parts/loaded-view.tsx'
import { Badge, FailureNotice, Notice } from '../parts/notice.tsx'
import { CardSection, DistanceFact, Fact, PageHeading } from '../parts/page.tsx'
import { Distance, When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import { ChangeIssuerDialog, DeleteIssuerButton } from './issuer-dialogs.tsx'
import { sourceNameOf, stateOfIssuer } from './issuers-page.tsx'

export function IssuerPage({ id: issuerId }: { readonly id: string }) {
  const loaded = useLoaded(
    `issuer ${issuerId}`,
    async (options) =>
      (await unlessMissing(trustedIssuers.getTrustedIssuer({ issuerId }, options)))?.trustedIssuer ?? null,
    { isPeriodic: true },
  )
  return (
    <ItemView place={['issuers', 'Trusted issuers']} what="issuer" loaded={loaded}>
      {(issuer) => <Issuer issuer={issuer} />}
    </ItemView>
  )
}

function Issuer({ issuer }: { readonly issuer: TrustedIssuer }) {
  const { issuerId, maxLifetimeSeconds, creationDate } = issuer
  const refresh = useAction(async () => {
    await trustedIssuers.refreshTrustedIssuerKeys({ issuerId })
  })
  return (
    <>
      <PageHeading title={issuer.issuer} subtitle={<Copyable text={issuerId} what="the issuer id" />}>
        {may('iam.trusted_issuer.write') && (
          <>
            {issuer.fetchedKeys !== undefined && (
              <button type="button" class="button" disabled={refresh.isRunning} onClick={() => void refresh.run()}>
                {refresh.isRunning ? 'Fetching…' : 'Fetch keys now'}
              </button>
            )}
            <DialogButton verb="Change" dialog={<ChangeIssuerDialog issuer={issuer} />} />
          </>
        )}
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
    <CardSection id="issuer-keys" title="Keys">
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
