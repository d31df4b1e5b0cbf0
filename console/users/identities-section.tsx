/**
 * The federated identities of a user: JWTs of other issuers that stand for it.
 */
import { useState } from 'preact/hooks'
import type { FederatedIdentity } from '../../gen/iam/federation/v2/federated_identity_pb.js'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { federatedIdentities } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Field } from '../parts/field.tsx'
import { When } from '../parts/when.tsx'
import { may } from '../session/session.ts'

interface IdentitiesSectionProps {
  readonly user: ServiceUser
  readonly identities: readonly FederatedIdentity[]
  readonly issuers: readonly TrustedIssuer[]
}

export function IdentitiesSection({ user, identities, issuers }: IdentitiesSectionProps) {
  const [open, setOpen] = useState<'add' | FederatedIdentity>()
  const { userId } = user
  const close = () => setOpen(undefined)
  const mayChange = may('iam.user.credential.write')
  const issuerOf = ({ issuerId }: FederatedIdentity) =>
    issuers.find((issuer) => issuer.issuerId === issuerId)?.issuer ?? issuerId
  const columns: Column<FederatedIdentity>[] = [
    { name: 'Subject', kind: 'main', cell: ({ subject }) => <code>{subject}</code> },
    { name: 'Issuer', kind: 'text', cell: issuerOf },
    { name: 'Audience', kind: 'text', cell: ({ audience }) => audience || 'this issuer' },
    {
      name: 'Other claims',
      kind: 'text',
      cell: ({ claims }) => (
        <span>{claims.map(({ pointer, value }) => `${pointer} = ${value}`).join(', ') || '–'}</span>
      ),
    },
    { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
    {
      name: 'Actions',
      kind: 'actions',
      cell: (identity) =>
        mayChange && (
          <button
            type="button"
            class="button is-small"
            aria-label={`Remove ${identity.subject}`}
            onClick={() => setOpen(identity)}
          >
            Remove
          </button>
        ),
    },
  ]
  return (
    <section class="card" aria-labelledby="identities-title">
      <div class="card-head">
        <h2 id="identities-title">Federated identities</h2>
        {mayChange && issuers.length > 0 && (
          <button type="button" class="button" onClick={() => setOpen('add')}>
            Add identity
          </button>
        )}
      </div>
      <DataTable
        caption="Federated identities"
        columns={columns}
        rows={identities}
        keyOf={({ identityId }) => identityId}
        empty={issuers.length > 0 ? 'None.' : 'None. Trust an issuer first: keyturn federation issuers.'}
      />
      {open === 'add' && <AddDialog userId={userId} issuers={issuers} onClose={close} />}
      {open !== undefined && open !== 'add' && (
        <ConfirmDialog
          title="Remove the federated identity?"
          verb="Remove"
          isDangerous
          onClose={close}
          change={() => federatedIdentities.removeFederatedIdentity({ userId, identityId: open.identityId })}
        >
          <p>
            JWTs of <code>{issuerOf(open)}</code> for <code>{open.subject}</code> are refused from then on.
          </p>
        </ConfirmDialog>
      )}
    </section>
  )
}

interface AddDialogProps {
  readonly userId: string
  readonly issuers: readonly TrustedIssuer[]
  readonly onClose: () => void
}

function AddDialog({ userId, issuers, onClose }: AddDialogProps) {
  const [issuerId, setIssuerId] = useState(issuers[0]?.issuerId ?? '')
  const [subject, setSubject] = useState('')
  const [audience, setAudience] = useState('')
  return (
    <ConfirmDialog
      title="Add a federated identity"
      verb="Add identity"
      isIncomplete={subject === ''}
      onClose={onClose}
      change={() => federatedIdentities.addFederatedIdentity({ userId, issuerId, subject, audience })}
    >
      <Field label="Trusted issuer">
        {(id) => (
          <select id={id} value={issuerId} onChange={({ currentTarget }) => setIssuerId(currentTarget.value)}>
            {issuers.map(({ issuerId: value, issuer }) => (
              <option key={value} value={value}>
                {issuer}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Subject" hint="The sub of its JWTs, for example system:serviceaccount:shop:checkout.">
        {(id) => (
          <input
            id={id}
            type="text"
            required
            autocomplete="off"
            value={subject}
            onInput={({ currentTarget }) => setSubject(currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Audience" hint="Empty: the issuer of this service, which is the safest choice.">
        {(id) => (
          <input
            id={id}
            type="text"
            autocomplete="off"
            value={audience}
            onInput={({ currentTarget }) => setAudience(currentTarget.value)}
          />
        )}
      </Field>
    </ConfirmDialog>
  )
}
