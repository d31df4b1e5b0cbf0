/**
 * Adds a federated identity to a user: what a JWT must say to stand for it.
 */
import { useState } from 'preact/hooks'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { federatedIdentities } from '../api/clients.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { SelectField, TextField } from '../parts/field.tsx'
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
      <SelectField
        label="Trusted issuer"
        value={issuerId}
        choices={issuers.map((one) => [one.issuerId, one.issuer] as const)}
        onChange={setIssuerId}
      />
      <TextField
        label="Subject"
        hint="The sub of its JWTs, for example system:serviceaccount:shop:checkout."
        required
        value={subject}
        onChange={setSubject}
      />
      <TextField
        label="Audience"
        hint="Empty: the issuer of this service, which is the safest choice."
        value={audience}
        onChange={setAudience}
      />
      <RequiredClaims claims={claims} onChange={setClaims} />
    </ConfirmDialog>
  )
}
