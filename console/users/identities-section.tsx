/**
 * The federated identities of a user: JWTs of other issuers that stand for it.
 */
import type { FederatedIdentity } from '../../gen/iam/federation/v2/federated_identity_pb.js'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { federatedIdentities } from '../api/clients.ts'
import { linkTo } from '../navigation/route.ts'
import { Button, IconButton } from '../parts/buttons.tsx'
import type { Column } from '../parts/data-table.tsx'
import { ConfirmDialog } from '../parts/dialogs.tsx'
import { type Bound, SelectField, TextField, useDraft } from '../parts/fields.tsx'
import { When } from '../parts/values.tsx'
import { may } from '../session/session.ts'
import { CredentialSection } from './credential-sections.tsx'

interface IdentitiesSectionProps {
  readonly user: ServiceUser
  readonly identities: readonly FederatedIdentity[]
  readonly issuers: readonly TrustedIssuer[]
}

export function IdentitiesSection({ user, identities, issuers }: IdentitiesSectionProps) {
  const { userId } = user
  const issuerNameOf = ({ issuerId }: FederatedIdentity) =>
    issuers.find((issuer) => issuer.issuerId === issuerId)?.issuer ?? issuerId
  const columns: Column<FederatedIdentity>[] = [
    { name: 'Subject', kind: 'main', cell: ({ subject }) => <code>{subject}</code> },
    {
      name: 'Issuer',
      kind: 'text',
      cell: (identity) => <a href={linkTo(['issuers', identity.issuerId])}>{issuerNameOf(identity)}</a>,
    },
    { name: 'Audience', kind: 'text', cell: ({ audience }) => audience || 'this issuer' },
    {
      name: 'Other claims',
      kind: 'text',
      cell: ({ claims }) => <span>{claims.length === 0 ? '–' : claims.map(claimCell)}</span>,
    },
    { name: 'Created', cell: ({ creationDate }) => <When at={creationDate} /> },
  ]
  return (
    <CredentialSection
      user={user}
      title="Federated identities"
      addVerb="Add identity"
      addDialog={<AddDialog userId={userId} issuers={issuers} />}
      canAdd={issuers.length > 0}
      columns={columns}
      rows={identities}
      keyOf={({ identityId }) => identityId}
      empty={<NoIdentities hasIssuers={issuers.length > 0} />}
      removalOf={(identity) => ({
        verb: 'Remove',
        label: `Remove ${identity.subject}`,
        title: 'Remove the federated identity?',
        consequence: (
          <>
            JWTs of <code>{issuerNameOf(identity)}</code> for <code>{identity.subject}</code> are refused from then on.
          </>
        ),
        remove: () => federatedIdentities.removeFederatedIdentity({ userId, identityId: identity.identityId }),
      })}
    />
  )
}

/** A claim that a JWT must have besides its subject and audience, in the words of the API. */
interface Claim {
  /** A JSON pointer (RFC 6901). */
  readonly pointer: string
  readonly value: string
}

function claimCell({ pointer, value }: Claim) {
  return (
    <code key={pointer} class="claim">
      {pointer} = {value}
    </code>
  )
}

function NoIdentities({ hasIssuers }: { readonly hasIssuers: boolean }) {
  if (hasIssuers) return <>None.</>
  if (!may('iam.trusted_issuer.read')) return <>None. A user who may see the trusted issuers can add one here.</>
  return (
    <>
      None. First trust an issuer, on the page <a href={linkTo(['issuers'])}>Trusted issuers</a>.
    </>
  )
}

function AddDialog({ userId, issuers }: { readonly userId: string; readonly issuers: readonly TrustedIssuer[] }) {
  const { values, field } = useDraft({
    issuerId: issuers[0]?.issuerId ?? '',
    subject: '',
    audience: '',
    claims: [] as Claim[],
  })
  return (
    <ConfirmDialog
      title="Add a federated identity"
      verb="Add identity"
      change={() => federatedIdentities.addFederatedIdentity({ userId, ...values })}
    >
      <SelectField
        label="Trusted issuer"
        choices={issuers.map((one) => [one.issuerId, one.issuer] as const)}
        {...field('issuerId')}
      />
      <TextField
        label="Subject"
        hint="The sub of its JWTs, for example system:serviceaccount:shop:checkout."
        required
        {...field('subject')}
      />
      <TextField
        label="Audience"
        hint="Empty: the issuer of this service, which is the safest choice."
        {...field('audience')}
      />
      <RequiredClaims {...field('claims')} />
    </ConfirmDialog>
  )
}

function RequiredClaims({ value: claims, onChange }: Bound<Claim[]>) {
  const set = (index: number, values: Partial<Claim>) =>
    onChange(claims.map((claim, at) => (at === index ? { ...claim, ...values } : claim)))
  return (
    <fieldset class="claims-fields">
      <legend>Other claims that it must have</legend>
      {claims.map((claim, index) => (
        <div key={index} class="claim-fields">
          {CLAIM_FIELDS.map(({ name, label, placeholder }) => (
            <input
              key={name}
              type="text"
              aria-label={`${label} ${index + 1}`}
              placeholder={placeholder}
              autocomplete="off"
              spellcheck={false}
              value={claim[name]}
              onInput={({ currentTarget }) => set(index, { [name]: currentTarget.value })}
            />
          ))}
          <IconButton
            name="close"
            label={`Remove claim ${index + 1}`}
            onClick={() => onChange(claims.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <Button text="Add claim" isSmall onClick={() => onChange([...claims, { pointer: '', value: '' }])} />
      <p class="hint">
        Each by a JSON pointer, for example <code>/kubernetes.io/namespace</code>, and the text that it must be.
      </p>
    </fieldset>
  )
}

const CLAIM_FIELDS = [
  { name: 'pointer', label: 'Claim', placeholder: '/repository' },
  { name: 'value', label: 'Value of claim', placeholder: 'its value' },
] as const
