/**
 * Adds a federated identity to a user: what a JWT must say to stand for it.
 */
import { useState } from 'preact/hooks'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { federatedIdentities } from '../api/clients.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Field } from '../parts/field.tsx'
import { type Claim, RequiredClaims } from './required-claims.tsx'

interface AddIdentityDialogProps {
  readonly userId: string
  readonly issuers: readonly TrustedIssuer[]
  readonly onClose: () => void
}

export function AddIdentityDialog({ userId, issuers, onClose }: AddIdentityDialogProps) {
  const [issuerId, setIssuerId] = useState(issuers[0]?.issuerId ?? '')
  const [subject, setSubject] = useState('')
  const [audience, setAudience] = useState('')
  const [claims, setClaims] = useState<readonly Claim[]>([])
  return (
    <ConfirmDialog
      title="Add a federated identity"
      verb="Add identity"
      isIncomplete={subject === ''}
      onClose={onClose}
      change={() =>
        federatedIdentities.addFederatedIdentity({ userId, issuerId, subject, audience, claims: [...claims] })
      }
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
      <RequiredClaims claims={claims} onChange={setClaims} />
    </ConfirmDialog>
  )
}
