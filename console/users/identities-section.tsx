/**
 * The federated identities of a user: JWTs of other issuers that stand for it.
 */
import { useState } from 'preact/hooks'
import type { FederatedIdentity } from '../../gen/iam/federation/v2/federated_identity_pb.js'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { federatedIdentities } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { linkTo } from '../navigation/route.ts'
import { CardSection } from '../parts/card-section.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { actionColumn, type Column, DataTable } from '../parts/data-table.tsx'
import { When } from '../parts/when.tsx'
import { mayWithUser } from '../session/rights.ts'
import { may } from '../session/session.ts'
import { AddIdentityDialog } from './add-identity-dialog.tsx'

interface IdentitiesSectionProps {
  readonly user: ServiceUser
  readonly identities: readonly FederatedIdentity[]
  readonly issuers: readonly TrustedIssuer[]
}

export function IdentitiesSection({ user, identities, issuers }: IdentitiesSectionProps) {
  const [open, setOpen] = useState<'add' | FederatedIdentity>()
  const { userId } = user
  const close = () => setOpen(undefined)
  const mayChange = mayWithUser('iam.user.credential.write', user)
  const issuerNameOf = ({ issuerId }: FederatedIdentity) =>
    issuers.find((issuer) => issuer.issuerId === issuerId)?.issuer ?? issuerId
  const issuerLink = (identity: FederatedIdentity) => (
    <a href={linkTo(['issuers', identity.issuerId])}>{issuerNameOf(identity)}</a>
  )
  const columns: Column<FederatedIdentity>[] = [
    { name: 'Subject', kind: 'main', cell: ({ subject }) => <code>{subject}</code> },
    { name: 'Issuer', kind: 'text', cell: issuerLink },
    { name: 'Audience', kind: 'text', cell: ({ audience }) => audience || 'this issuer' },
    {
      name: 'Other claims',
      kind: 'text',
      cell: ({ claims }) => (
        <span>
          {claims.length === 0
            ? '–'
            : claims.map(({ pointer, value }) => (
                <code key={pointer} class="claim">
                  {pointer} = {value}
                </code>
              ))}
        </span>
      ),
    },
    { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
    actionColumn<FederatedIdentity>('Remove', {
      isShown: mayChange,
      labelOf: (identity) => `Remove ${identity.subject}`,
      onClick: (identity) => setOpen(identity),
    }),
  ]
  return (
    <CardSection
      id="identities"
      title="Federated identities"
      action={mayChange && issuers.length > 0 && { verb: 'Add identity', onClick: () => setOpen('add') }}
    >
      <DataTable
        caption="Federated identities"
        columns={columns}
        rows={identities}
        keyOf={({ identityId }) => identityId}
        empty={
          issuers.length > 0 ? (
            'None.'
          ) : !may('iam.trusted_issuer.read') ? (
            'None. A user who may see the trusted issuers can add one here.'
          ) : (
            <>
              None. First trust an issuer, on the page <a href={linkTo(['issuers'])}>Trusted issuers</a>.
            </>
          )
        }
      />
      {open === 'add' && <AddIdentityDialog userId={userId} issuers={issuers} onClose={close} />}
      {open !== undefined && open !== 'add' && (
        <ConfirmDialog
          title="Remove the federated identity?"
          verb="Remove"
          isDangerous
          onClose={close}
          change={() => federatedIdentities.removeFederatedIdentity({ userId, identityId: open.identityId })}
        >
          <p>
            JWTs of <code>{issuerNameOf(open)}</code> for <code>{open.subject}</code> are refused from then on.
          </p>
        </ConfirmDialog>
      )}
    </CardSection>
  )
}
