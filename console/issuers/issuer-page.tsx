/**
 * One trusted issuer: its keys, and how fetching them goes.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import { useState } from 'preact/hooks'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { formatLength, millisecondsOf } from '../format/moment.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { FailureNotice, Notice } from '../parts/notice.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { Distance, When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import { ChangeIssuerDialog, DeleteIssuerDialog } from './issuer-dialogs.tsx'
import { type PublicKey, publicKeysOf, sourceNameOf } from './issuer-state.ts'
import { IssuerStateBadge } from './issuers-page.tsx'

export function IssuerPage({ id: issuerId }: { readonly id: string }) {
  const loaded = useLoaded(
    `issuer ${issuerId}`,
    async (options) => {
      try {
        return (await trustedIssuers.getTrustedIssuer({ issuerId }, options)).trustedIssuer ?? null
      } catch (error) {
        if (ConnectError.from(error).code === Code.NotFound) return null
        throw error
      }
    },
    { isPeriodic: true },
  )
  return (
    <>
      <p class="crumbs">
        <a href={linkTo(['issuers'])}>Trusted issuers</a>
      </p>
      <LoadedView loaded={loaded}>
        {(issuer) => (issuer === null ? <p>There is no such issuer.</p> : <Issuer issuer={issuer} />)}
      </LoadedView>
    </>
  )
}

function Issuer({ issuer }: { readonly issuer: TrustedIssuer }) {
  const [open, setOpen] = useState<'change' | 'delete'>()
  const close = () => setOpen(undefined)
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
            <button type="button" class="button" onClick={() => setOpen('change')}>
              Change
            </button>
          </>
        )}
        {may('iam.trusted_issuer.delete') && (
          <button type="button" class="button" onClick={() => setOpen('delete')}>
            Delete
          </button>
        )}
      </PageHeading>
      <FailureNotice failure={refresh.failure} />
      <p class="summary">
        <IssuerStateBadge issuer={issuer} /> Created <When at={millisecondsOf(creationDate)} />. Its JWTs may live up to{' '}
        {formatLength(maxLifetimeSeconds * 1000)}.{' '}
        {may('iam.audit.read') && (
          <a href={linkTo(['audit'], { resource: `trusted_issuers/${issuerId}` })}>What was done to it</a>
        )}
      </p>
      <KeysSection issuer={issuer} />
      {open === 'change' && <ChangeIssuerDialog issuer={issuer} onClose={close} />}
      {open === 'delete' && <DeleteIssuerDialog issuer={issuer} onClose={close} />}
    </>
  )
}

const KEY_COLUMNS: readonly Column<PublicKey>[] = [
  { name: 'Key id', kind: 'main', cell: ({ kid }) => <code>{kid}</code> },
  { name: 'Kind', kind: 'text', cell: ({ kind }) => kind },
]

function KeysSection({ issuer }: { readonly issuer: TrustedIssuer }) {
  const { keys, fetchedKeys, algorithms } = issuer
  return (
    <section class="card" aria-labelledby="issuer-keys-title">
      <h2 id="issuer-keys-title">Keys</h2>
      {fetchedKeys !== undefined && fetchedKeys.failure !== '' && (
        <Notice kind="warning">
          <p>
            The last fetch failed <Distance at={millisecondsOf(fetchedKeys.failureDate)} />: {fetchedKeys.failure}.
          </p>
        </Notice>
      )}
      <dl class="facts">
        <div>
          <dt>Come from</dt>
          <dd>{sourceNameOf(keys)}</dd>
        </div>
        {fetchedKeys !== undefined && (
          <>
            <Moment name="Fetched" at={millisecondsOf(fetchedKeys.fetchDate)} otherwise="never" />
            {fetchedKeys.expirationDate !== undefined && (
              <Moment name="Too old" at={millisecondsOf(fetchedKeys.expirationDate)} />
            )}
            <Moment name="Next fetch" at={millisecondsOf(fetchedKeys.nextFetchDate)} />
            <div>
              <dt>Authorities</dt>
              <dd>{keys?.caCertificates === '' ? 'the usual ones' : 'its own'}</dd>
            </div>
          </>
        )}
        <div>
          <dt>Algorithms</dt>
          <dd>{algorithms.join(', ')}</dd>
        </div>
      </dl>
      <DataTable
        caption="Public keys"
        columns={KEY_COLUMNS}
        rows={publicKeysOf(issuer)}
        keyOf={({ kid, kind }) => `${kid} ${kind}`}
        empty="There are no keys: all its JWTs are refused."
      />
    </section>
  )
}

interface MomentProps {
  readonly name: string
  readonly at: number | undefined
  readonly otherwise?: string
}

function Moment({ name, at, otherwise = '–' }: MomentProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Distance at={at} otherwise={otherwise} />
      </dd>
    </div>
  )
}
